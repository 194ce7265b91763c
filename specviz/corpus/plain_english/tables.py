"""Lists, CSV tables and JSON records of invented people and things, some with a question or a conversion.

Place in the flow: one family of `generator`. What a row says must be carried into the answer or the other format.
"""

import json
from typing import Any

from specviz.corpus.plain_english import people, words
from specviz.corpus.plain_english.page import Draw, Page

COLUMNS = ("name", "age", "town", "job", "pet", "likes", "day", "colour")


def row_of(draw: Draw, name: str, columns: list[str]) -> dict[str, Any]:
    """One record; `name` is given so that rows differ."""
    town, job = draw.combination("record", words.TOWNS, words.JOBS)
    values: dict[str, Any] = {
        "name": name,
        "age": draw.integer(6, 79),
        "town": town,
        "job": job,
        "pet": draw.one(words.ANIMALS),
        "likes": draw.one(words.FOODS),
        "day": draw.one(words.DAYS),
        "colour": draw.one(words.ADJECTIVES[:8]),
    }
    return {column: values[column] for column in columns}


def rows_of(draw: Draw, low: int, high: int) -> list[dict[str, Any]]:
    """Some records with the same columns, the name first."""
    columns = ["name", *draw.several(COLUMNS[1:], draw.integer(2, 3))]
    return [row_of(draw, name, columns) for name in draw.several(people.NAMES, draw.integer(low, high))]


def csv(rows: list[dict[str, Any]]) -> str:
    """Comma-separated, with a header."""
    return "\n".join([",".join(rows[0]), *(",".join(str(value) for value in row.values()) for row in rows)])


def written(page: Page, text: str, frame: str) -> None:
    """Adds text that is no template, under a short name for the skeleton."""
    page.texts.append(text)
    page.frames.append(frame)


def table(draw: Draw) -> Page:
    """A CSV table; then perhaps a question about a cell, or one row as a sentence or as JSON."""
    rows = rows_of(draw, 2, 5)
    page = Page(draw)
    page.maybe(0.4, "A table of people:\n", "Table:\n", "people.csv\n", "The list as CSV:\n")
    written(page, csv(rows), "|".join(rows[0]) + f" x{len(rows)}")
    row = draw.one(rows)
    column = draw.one(list(row)[1:])
    page.know(name=row["name"], column=column, value=str(row[column]))
    style = draw.random.random()
    if style < 0.45:
        page.say(
            "\n\nWhat is the {column} of {name}? {value}.",
            "\n\nQuestion: {column} of {name}?\nAnswer: {value}.",
            "\n\nLook up the {column} of {name}. The {column} of {name} is {value}.",
        )
    elif style < 0.7:
        page.say("\n\nAs JSON, the row of {name}:\n", "\n\n{name} as JSON:\n")
        written(page, json.dumps(row), "json row")
    elif style < 0.85:
        page.say("\n\nNames: ", "\n\nThe names are: ")
        written(page, ", ".join(entry["name"] for entry in rows) + ".", "names")
    return page


def records(draw: Draw) -> Page:
    """One or two JSON records, with or without indentation; then perhaps a question or a CSV table."""
    rows = rows_of(draw, 1, 2)
    page = Page(draw)
    page.maybe(0.3, "JSON:\n", "A record as JSON:\n", "person.json\n")
    written(
        page, json.dumps(rows[0] if len(rows) == 1 else rows, indent=draw.one((None, 2))), "json " + "|".join(rows[0])
    )
    row = draw.one(rows)
    column = draw.one(list(row)[1:])
    page.know(name=row["name"], column=column, value=str(row[column]))
    style = draw.random.random()
    if style < 0.4:
        page.say("\n\nWhat is the {column} of {name}? {value}.", "\n\nThe {column} of {name} is {value}.")
    elif style < 0.7:
        page.say("\n\nAs CSV:\n", "\n\nThe same as a table:\n")
        written(page, csv(rows), "csv")
    return page


def listing(draw: Draw) -> Page:
    """A list to buy, to pack or to do, with the number of its items."""
    (title, name) = draw.combination("list", LISTS, people.NAMES)
    heading, items = title
    chosen = draw.several(items, draw.integer(3, 6))
    page = Page(
        draw, name=name, count=len(chosen), number=words.TIMES[len(chosen) - 1], first=chosen[0], last=chosen[-1]
    )
    page.say(heading)
    mark = draw.one(("- ", "* ", "{n}. "))
    for number, item in enumerate(chosen, start=1):
        page.say("\n" + mark.replace("{n}", str(number)))
        written(page, item, "item")
    if draw.chance(0.6):
        page.say(
            "\nThat makes {number} things.",
            "\nThe first is {first} and the last is {last}.",
            "\nNumber of things: {count}",
        )
    return page


LISTS = (
    ("[Shopping list|To buy] for {name}:", tuple(words.FOODS)),
    ("{name} packs a bag:", tuple(words.THINGS)),
    ("{name} saw these animals:", tuple(words.ANIMALS)),
    ("What {name} likes:", words.ACTIVITIES),
    ("Friends of {name}:", tuple(people.NAMES)),
    ("Things in the room of {name}:", tuple(words.THINGS)),
    ("Towns that {name} visited:", words.TOWNS),
)


def document(draw: Draw) -> Page:
    """A table, records or a list."""
    return draw.one((table, table, records, records, listing))(draw)
