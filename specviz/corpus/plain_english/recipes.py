"""Recipes and numbered instructions: what is named as an ingredient is used in the steps.

Place in the flow: one family of `generator`.
"""

from specviz.corpus.plain_english import people, words
from specviz.corpus.plain_english.page import Draw, Page

DISHES = ("soup", "cake", "pie", "salad", "bread", "sauce", "stew", "jam", "omelette", "pudding", "pancakes", "juice")
INGREDIENTS = (
    "apples",
    "pears",
    "plums",
    "cherries",
    "carrots",
    "potatoes",
    "tomatoes",
    "onions",
    "beans",
    "peas",
    "eggs",
    "nuts",
    "berries",
    "lemons",
    "oranges",
    "bananas",
    "mushrooms",
    "leeks",
    "beets",
    "figs",
)
POWDERS = ("flour", "sugar", "salt", "butter", "milk", "water", "honey", "oil", "rice", "cheese", "cream", "pepper")
STEPS = (
    ("Wash the {one}[.| and the {two}.]", "Peel the {one}.", "Put the {one} on the table."),
    ("Cut the {one} [into small pieces|in half].", "Chop the {two}.", "Mix the {one} with the {two}."),
    ("Add the {three}.", "Add the {three} and stir.", "Mix the {three} with the {four}."),
    (
        "[Cook|Bake|Boil] it for {minutes} minutes.",
        "Put it [in the oven|on the fire] for {minutes} minutes.",
        "Wait {minutes} minutes.",
    ),
    ("Add the {four} at the end.", "Let it [cool|rest].", "Put the {four} on top."),
    ("Serve the {dish} [hot|cold|with bread].", "Eat the {dish} with {name}.", "Enjoy your {dish}!"),
)
TASKS = (
    (
        "plant {thing:a}",
        ("pot", "seed", "tree", "flower", "bean"),
        (
            "Find a {sunny} place.",
            "Dig a [small|deep] hole.",
            "Put the {thing} into the hole.",
            "Cover it with earth.",
            "Water the {thing} every {day}.",
            "Wait for {count} weeks.",
        ),
    ),
    (
        "clean {thing:a}",
        words.THINGS,
        (
            "Fill a bucket with [warm|cold] water.",
            "Add a little soap.",
            "Wash the {thing} with a {sunny} cloth.",
            "Rinse it {count} times.",
            "Dry the {thing} with a towel.",
            "Put the {thing} back {place}.",
        ),
    ),
    (
        "paint {thing:a}",
        words.THINGS,
        (
            "Put [paper|a cloth] under the {thing}.",
            "Open the {colour} paint.",
            "Paint the {thing} {colour}.",
            "Let it dry for {count} hours.",
            "Paint the {thing} again.",
            "Clean the brush.",
        ),
    ),
    (
        "wrap {thing:a}",
        words.THINGS,
        (
            "Take some {colour} paper.",
            "Put the {thing} on the paper.",
            "Fold the paper over the {thing}.",
            "Tie it with a {colour} ribbon.",
            "Write {name} on it.",
            "Give the {thing} to {name}.",
        ),
    ),
    (
        "find {thing:a}",
        words.THINGS,
        (
            "Ask {name} about the {thing}.",
            "Look {place}.",
            "Look in every box.",
            "Wait until {day}.",
            "If you find the {thing}, tell {name}.",
            "If not, make a new {thing}.",
        ),
    ),
    (
        "sell {thing:a}",
        words.THINGS,
        (
            "Clean the {thing}.",
            "Write the price on the {thing}: {count} euros.",
            "Go to the market on {day}.",
            "Show the {thing} to everyone.",
            "Take the {count} euros.",
            "Say thank you.",
        ),
    ),
)


def recipe(draw: Draw) -> Page:
    """A dish, its ingredients with amounts, and numbered steps."""
    dish, one, two = draw.combination("recipe", DISHES, INGREDIENTS, INGREDIENTS)
    three, four = draw.several(POWDERS, 2)
    page = Page(
        draw,
        dish=dish,
        one=one,
        two=two if two != one else "grapes",
        three=three,
        four=four,
        a=draw.integer(2, 12),
        b=draw.integer(2, 9),
        c=draw.integer(1, 9) * 50,
        minutes=draw.integer(1, 12) * 5,
        name=draw.one(people.NAMES),
    )
    page.say(
        "Recipe for {dish} with {one}\n", "How do you make {dish} with {one}?\n", "{dish:c} with {one} and {two}\n"
    )
    page.say(
        "You need: {a} {one}, {b} {two}, {c} grams of {three} and some {four}.\n",
        "Ingredients:\n- {a} {one}\n- {b} {two}\n- {c} grams of {three}\n- some {four}\n",
    )
    for number, step in enumerate(STEPS, start=1):
        page.say(("" if number == 1 else "\n") + f"{number}. ")
        page.say(*step)
    return page


def instruction(draw: Draw) -> Page:
    """Numbered steps of an everyday task."""
    task, things, all_steps = draw.one(TASKS)
    (thing, colour, _) = draw.combination("task", things, words.ADJECTIVES[:8], (task,))
    page = Page(
        draw,
        thing=thing,
        colour=colour,
        sunny=draw.one(("soft", "clean", "small", "good", "dry")),
        count=draw.integer(2, 9),
        day=draw.one(words.DAYS),
        name=draw.one(people.NAMES),
        place=draw.one(words.PLACES),
    )
    page.say(f"How to {task}\n", f"How do you {task}?\n", f"Please explain how to {task}.\n")
    count = draw.integer(4, 6)
    chosen = sorted(draw.several(range(len(all_steps)), count))
    for number, index in enumerate(chosen, start=1):
        page.say(("" if number == 1 else "\n") + f"{number}. " + all_steps[index])
    return page


def document(draw: Draw) -> Page:
    """A recipe or an instruction."""
    return recipe(draw) if draw.chance(0.55) else instruction(draw)
