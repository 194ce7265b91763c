"""The words of the small world: people, animals, things, places, foods.

Place in the flow: slot lists that the families draw from. Data only.
"""

GIRLS = (
    "Mia Zoe Anna Lily Emma Nora Ruth Clara Alice Maya Ella Rosa Ivy Jane Lucy Sara Tina Vera Wendy Amy "
    "Ada Bella Dora Eva Grace Hanna Ida June Kate Lena Mary Nina Olga Paula Rita Sophie Tara Una Willa Yara"
).split()
BOYS = (
    "Leo Tom Ben Max Sam Jack Finn Noah Paul Oscar Hugo Adam Carl David Eric Felix George Henry Ian John "
    "Kurt Luke Mark Nick Owen Peter Quinn Ron Simon Theo Victor Will Alex Bruno Dan Emil Frank Greg Ivan Jim"
).split()
ANIMALS = (
    "duck owl fox cat dog rabbit mouse hedgehog squirrel frog goat sheep horse donkey pony goose hen crow robin "
    "badger beaver turtle snail bee bear deer otter swan parrot pig cow lamb mole toad hare"
).split()
THINGS = (
    "kite ball hat lamp book key coat drum map cup bell boat basket blanket box ring clock brush bag "
    "scarf spoon whistle mirror candle umbrella rope pencil letter coin shell feather button wagon flute puzzle "
    "backpack bottle bucket chair glove jar ladder mug needle pillow plate shovel teapot towel vase"
).split()
ADJECTIVES = (
    "red blue green yellow white black brown orange old new small big heavy light round shiny soft warm "
    "broken wooden golden silver pretty tiny long purple"
).split()
PLACES = (
    "at the library", "in the park", "at the market", "at the station", "in the garden", "at the beach", "in the forest",
    "at school", "on the farm", "by the river", "at the lake", "in the kitchen", "at the harbour", "in the museum",
    "at the bakery", "on the hill", "in the village", "at the zoo", "in the barn", "by the old bridge",
    "in the town hall", "at the playground", "in the yard", "under the big tree", "near the windmill",
    "at the bus stop", "in the attic", "in the cellar", "on the island", "at the castle",
)  # fmt: skip
WEATHER = ("sunny", "rainy", "windy", "cold", "warm", "cloudy", "snowy", "foggy", "stormy", "hot", "quiet", "bright")
FEELINGS = ("happy", "sad", "tired", "proud", "hungry", "excited", "worried", "calm", "curious", "surprised", "lonely")
MANNERS = ("kind", "friendly", "clever", "brave", "quiet", "shy", "funny", "polite", "curious", "lazy", "busy", "gentle")
FOODS = (
    "apples pears plums cherries carrots potatoes tomatoes onions beans peas bread cheese butter honey milk eggs "
    "rice soup cake pie cookies nuts berries grapes lemons oranges bananas mushrooms salad pancakes"
).split()
COUNTED = (
    "apples pears plums cherries carrots potatoes tomatoes eggs cookies nuts berries lemons oranges bananas books "
    "pencils coins shells buttons stamps marbles stones flowers cards balloons stickers cups candles keys bottles "
    "chairs hats boxes letters feathers beads cakes tickets postcards leaves"
).split()
ACTIVITIES = (
    "reading", "swimming", "painting", "dancing", "cooking", "running", "singing", "fishing", "drawing", "skating",
    "gardening", "cycling", "knitting", "playing chess", "playing the piano", "building boats", "telling stories",
    "watching birds", "baking bread", "climbing trees",
)  # fmt: skip
JOBS = (
    "baker", "teacher", "doctor", "farmer", "painter", "driver", "gardener", "cook", "nurse", "singer", "sailor",
    "carpenter", "writer", "tailor", "pilot", "fisherman", "librarian", "clerk", "builder", "musician",
)  # fmt: skip
TOWNS = (
    "Rome", "Paris", "London", "Berlin", "Madrid", "Vienna", "Oslo", "Dublin", "Lisbon", "Prague", "Athens", "Cairo",
    "Tokyo", "Lima", "Ottawa", "Bern", "Delhi", "Boston", "Milan", "Lyon",
)  # fmt: skip
RELATIVES = ("mother", "father", "sister", "brother", "grandmother", "grandfather", "aunt", "uncle", "cousin", "friend")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
TIMES = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
PRONOUNS = {"she": ("she", "her", "her"), "he": ("he", "him", "his")}


def pronouns(name: str) -> tuple[str, str, str]:
    """Subject, object and possessive form for a name of the lists above."""
    return PRONOUNS["she" if name in GIRLS else "he"]


NAMES = [*GIRLS, *BOYS]
