"""The fact base: pairs of subject and answer by kind of fact, and how every kind is asked and answered.

Place in the flow: data for `questions`. Every pair is common knowledge. In a wording `{x}` is the subject, `{y}` the
answer. Questions stand without their question mark, statements without their full stop; `indirect` follows "Can you
tell me".
"""

from collections.abc import Mapping
from dataclasses import dataclass

from specviz.corpus.plain_english.words import DAYS, MONTHS


def pairs(text: str) -> dict[str, str]:
    """`a: b; c: d` as a dictionary."""
    rows = (row.split(":") for row in text.replace("\n", " ").split(";") if row.strip())
    return {subject.strip(): answer.strip() for subject, answer in rows}


EUROPE = pairs(
    """France: Paris; Germany: Berlin; Italy: Rome; Spain: Madrid; Portugal: Lisbon; Austria: Vienna; Poland: Warsaw;
    Hungary: Budapest; Greece: Athens; Norway: Oslo; Sweden: Stockholm; Finland: Helsinki;
    Denmark: Copenhagen; Ireland: Dublin; Belgium: Brussels; Iceland: Reykjavik; Switzerland: Bern;
    Romania: Bucharest; Bulgaria: Sofia; Croatia: Zagreb; Serbia: Belgrade; Slovenia: Ljubljana;
    Slovakia: Bratislava; Ukraine: Kyiv; Estonia: Tallinn; Latvia: Riga; Lithuania: Vilnius; Albania: Tirana;
    Malta: Valletta; the Netherlands: Amsterdam; the United Kingdom: London; the Czech Republic: Prague;
    Belarus: Minsk; Moldova: Chisinau; Montenegro: Podgorica; North Macedonia: Skopje"""
)
ASIA = pairs(
    """China: Beijing; Japan: Tokyo; India: New Delhi; Thailand: Bangkok; Vietnam: Hanoi; Nepal: Kathmandu;
    Iran: Tehran; Iraq: Baghdad; Syria: Damascus; Jordan: Amman; Lebanon: Beirut; Qatar: Doha; Oman: Muscat;
    Yemen: Sanaa; Pakistan: Islamabad; Bangladesh: Dhaka; Mongolia: Ulaanbaatar; South Korea: Seoul;
    North Korea: Pyongyang; Malaysia: Kuala Lumpur; the Philippines: Manila; Cambodia: Phnom Penh;
    Laos: Vientiane; Bhutan: Thimphu; Afghanistan: Kabul; Uzbekistan: Tashkent; Saudi Arabia: Riyadh;
    Turkey: Ankara; Georgia: Tbilisi; Armenia: Yerevan"""
)
AFRICA = pairs(
    """Egypt: Cairo; Kenya: Nairobi; Nigeria: Abuja; Ghana: Accra; Morocco: Rabat; Algeria: Algiers; Tunisia: Tunis;
    Libya: Tripoli; Sudan: Khartoum; Ethiopia: Addis Ababa; Uganda: Kampala; Rwanda: Kigali;
    Somalia: Mogadishu; Senegal: Dakar; Mali: Bamako; Angola: Luanda; Zambia: Lusaka; Zimbabwe: Harare;
    Namibia: Windhoek; Botswana: Gaborone; Mozambique: Maputo; Madagascar: Antananarivo; Cameroon: Yaounde;
    Liberia: Monrovia; Malawi: Lilongwe; Togo: Lome"""
)
AMERICA = pairs(
    """Canada: Ottawa; Mexico: Mexico City; Cuba: Havana; Brazil: Brasilia; Argentina: Buenos Aires; Chile: Santiago;
    Peru: Lima; Colombia: Bogota; Venezuela: Caracas; Ecuador: Quito; Uruguay: Montevideo; Paraguay: Asuncion;
    Panama: Panama City; Jamaica: Kingston; Haiti: Port-au-Prince; Honduras: Tegucigalpa; Nicaragua: Managua;
    Costa Rica: San Jose; Guatemala: Guatemala City; the United States: Washington; the Bahamas: Nassau"""
)
OCEANIA = pairs("Australia: Canberra; New Zealand: Wellington; Fiji: Suva; Samoa: Apia; Tonga: Nukualofa")

CONTINENTS = {"Europe": EUROPE, "Asia": ASIA, "Africa": AFRICA, "America": AMERICA, "Oceania": OCEANIA}
CAPITALS = {country: capital for part in CONTINENTS.values() for country, capital in part.items()}
COUNTRIES = {capital: country for country, capital in CAPITALS.items()}
CONTINENT_OF = {country: name for name, part in CONTINENTS.items() for country in part if country != "Turkey"}

EATS = pairs(
    """cow: grass; horse: hay; rabbit: carrots; mouse: cheese; cat: mice; dog: bones; bear: honey; panda: bamboo;
    monkey: bananas; squirrel: nuts; bird: seeds; owl: mice; frog: flies; duck: bread; goat: leaves;
    sheep: grass; pig: potatoes; hen: corn; fox: hens; wolf: meat; lion: meat; tiger: meat; whale: krill;
    seal: fish; penguin: fish; otter: fish; bee: nectar; spider: flies; snake: eggs; elephant: leaves;
    giraffe: leaves; koala: leaves; beaver: bark; hedgehog: worms; mole: worms; snail: salad;
    caterpillar: leaves; parrot: seeds; deer: grass; donkey: hay; crocodile: fish; bat: insects; camel: hay;
    zebra: grass; shark: fish; hamster: seeds"""
)
YOUNG = pairs(
    """cat: kitten; dog: puppy; cow: calf; horse: foal; sheep: lamb; goat: kid; pig: piglet; hen: chick;
    duck: duckling; goose: gosling; bear: cub; lion: cub; deer: fawn; kangaroo: joey; swan: cygnet;
    owl: owlet; frog: tadpole; seal: pup; whale: calf; eagle: eaglet"""
)
HOMES = pairs(
    """bee: hive; bird: nest; spider: web; fox: den; horse: stable; cow: barn; dog: kennel; pig: sty; rabbit: burrow;
    beaver: lodge; bear: cave; snail: shell; fish: lake; hen: coop; ant: hill; lion: savanna; camel: desert;
    whale: sea; monkey: jungle; squirrel: tree"""
)
SOUNDS = pairs(
    """cow: moo; dog: woof; cat: meow; sheep: baa; duck: quack; pig: oink; hen: cluck; rooster: cock-a-doodle-doo;
    owl: hoo; bee: buzz; snake: hiss; lion: roar; mouse: squeak; frog: croak; donkey: hee-haw; wolf: howl;
    crow: caw"""
)
OPPOSITES = pairs(
    """hot: cold; big: small; up: down; day: night; black: white; happy: sad; old: young; fast: slow; tall: short;
    open: closed; full: empty; wet: dry; hard: soft; heavy: light; rich: poor; loud: quiet; early: late;
    first: last; left: right; long: short; thick: thin; wide: narrow; near: far; high: low; good: bad;
    strong: weak; clean: dirty; deep: shallow; sweet: bitter; true: false; start: end; push: pull; win: lose;
    buy: sell; give: take; love: hate; laugh: cry; inside: outside; above: below; before: after;
    always: never; easy: difficult; cheap: expensive; safe: dangerous; smooth: rough; sharp: blunt;
    awake: asleep; alive: dead; question: answer; friend: enemy; war: peace; summer: winter; east: west;
    north: south; yes: no; more: less; many: few; on: off; in: out; front: back"""
)
COLOURS = pairs(
    """grass: green; snow: white; blood: red; coal: black; a lemon: yellow; a banana: yellow; a carrot: orange;
    the sky: blue; the sea: blue; a tomato: red; a strawberry: red; chocolate: brown; milk: white;
    an elephant: grey; a leaf: green; a cherry: red; the sun: yellow; a flamingo: pink; a raven: black;
    a cucumber: green; salt: white; a pumpkin: orange; a plum: purple; a mouse: grey; sand: yellow;
    a swan: white; a frog: green; honey: golden; a fire engine: red; wood: brown; lavender: purple;
    butter: yellow; a pea: green; a penguin: black and white; a zebra: black and white"""
)
PLURALS = pairs(
    """mouse: mice; child: children; foot: feet; tooth: teeth; goose: geese; man: men; woman: women; leaf: leaves;
    knife: knives; wolf: wolves; sheep: sheep; fish: fish; city: cities; baby: babies; box: boxes; bus: buses;
    cat: cats; dog: dogs; house: houses; tree: trees; potato: potatoes; tomato: tomatoes; wife: wives;
    life: lives; story: stories; berry: berries; ox: oxen; person: people; half: halves; loaf: loaves;
    key: keys; watch: watches"""
)
PAST = pairs(
    """go: went; see: saw; eat: ate; run: ran; take: took; give: gave; come: came; write: wrote; read: read;
    sing: sang; swim: swam; drink: drank; buy: bought; think: thought; bring: brought; make: made;
    find: found; know: knew; fly: flew; drive: drove; speak: spoke; sleep: slept; keep: kept; sit: sat;
    stand: stood; win: won; lose: lost; tell: told; say: said; build: built; catch: caught; teach: taught;
    fall: fell; break: broke; begin: began; play: played; walk: walked; jump: jumped; call: called;
    open: opened"""
)
LANGUAGES = pairs(
    """France: French; Germany: German; Italy: Italian; Spain: Spanish; Portugal: Portuguese; Poland: Polish;
    Greece: Greek; Sweden: Swedish; Norway: Norwegian; Denmark: Danish; Finland: Finnish; Hungary: Hungarian;
    Romania: Romanian; Turkey: Turkish; China: Chinese; Japan: Japanese; South Korea: Korean;
    Vietnam: Vietnamese; Thailand: Thai; Brazil: Portuguese; Mexico: Spanish; Egypt: Arabic; Iran: Persian;
    Israel: Hebrew; Ukraine: Ukrainian; Austria: German; Argentina: Spanish; the Netherlands: Dutch;
    Iceland: Icelandic; the United Kingdom: English"""
)
WORKERS = pairs(
    """bakes bread: a baker; teaches children: a teacher; grows corn: a farmer; flies planes: a pilot;
    cuts hair: a barber; puts out fires: a firefighter; makes clothes: a tailor; mends shoes: a cobbler;
    heals the sick: a doctor; paints pictures: a painter; writes books: a writer; catches fish: a fisherman;
    builds houses: a builder; works with wood: a carpenter; sells meat: a butcher; drives a bus: a bus driver;
    cooks meals: a cook; looks after teeth: a dentist; looks after books: a librarian;
    brings letters: a postman; sails ships: a sailor; sings songs: a singer; looks after gardens: a gardener;
    works in a mine: a miner; fixes pipes: a plumber"""
)
TOOLS = pairs(
    """cut paper: scissors; dig a hole: a shovel; hit a nail: a hammer; open a door: a key; tell the time: a clock;
    write a letter: a pen; sweep the floor: a broom; eat soup: a spoon; cut bread: a knife;
    stay dry in the rain: an umbrella; see far away: a telescope; boil water: a kettle;
    sew a button: a needle; measure a table: a ruler; hang up a picture: a nail; dry your hands: a towel;
    brush your teeth: a toothbrush; paint a picture: a brush; light a room: a lamp; catch a fish: a net;
    water the flowers: a watering can; comb your hair: a comb; take a photo: a camera"""
)
AMOUNTS = pairs(
    """seconds in a minute: 60; minutes in an hour: 60; hours in a day: 24; days in a week: 7; months in a year: 12;
    weeks in a year: 52; days in a year: 365; legs on a spider: 8; legs on an insect: 6; legs on a dog: 4;
    legs on a bird: 2; sides on a triangle: 3; sides on a square: 4; sides on a hexagon: 6;
    wheels on a bicycle: 2; wheels on a car: 4; fingers on a hand: 5; eggs in a dozen: 12;
    letters in the alphabet: 26; seasons in a year: 4; centimetres in a metre: 100;
    metres in a kilometre: 1000; grams in a kilogram: 1000; strings on a violin: 4; keys on a piano: 88;
    years in a century: 100; arms on an octopus: 8; colours in a rainbow: 7; planets around the sun: 8"""
)
MONTH_DAYS = dict(zip(MONTHS, (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31), strict=True))
DAYS_IN = {month: str(days) for month, days in MONTH_DAYS.items()}
NEXT_MONTH = {month: MONTHS[(i + 1) % 12] for i, month in enumerate(MONTHS)}
MONTH_BEFORE = {month: MONTHS[i - 1] for i, month in enumerate(MONTHS)}
NEXT_DAY = {day: DAYS[(i + 1) % 7] for i, day in enumerate(DAYS)}
DAY_BEFORE = {day: DAYS[i - 1] for i, day in enumerate(DAYS)}


@dataclass(frozen=True)
class Kind:
    """One kind of fact with all its wordings; `statement` is the sentence that answers every question."""

    name: str
    pairs: Mapping[str, str]
    questions: tuple[str, ...]
    indirect: tuple[str, ...]
    statement: str
    others: tuple[str, ...] = ()
    weight: int = 1

    def __str__(self) -> str:
        """Its name; combinations are told apart by it."""
        return self.name


KINDS = (
    Kind(
        "capital",
        CAPITALS,
        (
            "what is the capital of {x}",
            "which city is the capital of {x}",
            "what is the name of the capital of {x}",
            "what is {x}'s capital",
            "what is the capital city of {x}",
            "which capital does {x} have",
        ),
        ("what the capital of {x} is", "the capital of {x}", "which city is the capital of {x}"),
        "the capital of {x} is {y}",
        ("{y} is the capital of {x}", "the capital city of {x} is {y}", "{x} has the capital {y}"),
        weight=7,
    ),
    Kind(
        "country",
        COUNTRIES,
        (
            "{x} is the capital of which country",
            "which country has the capital {x}",
            "of which country is {x} the capital",
            "in which country is {x}",
        ),
        ("which country has the capital {x}", "in which country {x} is"),
        "{x} is the capital of {y}",
        ("the country with the capital {x} is {y}",),
        weight=4,
    ),
    Kind(
        "continent",
        CONTINENT_OF,
        ("where is {x}", "on which continent is {x}", "in which part of the world is {x}"),
        ("where {x} is", "on which continent {x} is"),
        "{x} is in {y}",
        weight=3,
    ),
    Kind(
        "language",
        LANGUAGES,
        ("which language is spoken in {x}", "what language do people speak in {x}", "what do people speak in {x}"),
        ("which language is spoken in {x}", "what people speak in {x}"),
        "people in {x} speak {y}",
        ("the language of {x} is {y}",),
    ),
    Kind(
        "eats",
        EATS,
        ("what does {x:a} eat", "what does {x:a} like to eat", "what is the food of {x:a}", "what do you feed {x:a}"),
        ("what {x:a} eats", "what {x:a} likes to eat"),
        "{x:a} eats {y}",
        ("{x:a} likes to eat {y}", "the food of {x:a} is {y}"),
        weight=2,
    ),
    Kind(
        "young",
        YOUNG,
        ("what is a young {x} called", "what do you call a baby {x}", "what is the name for a young {x}"),
        ("what a young {x} is called", "the name for a baby {x}"),
        "a young {x} is called {y:a}",
        ("a baby {x} is called {y:a}",),
    ),
    Kind(
        "home",
        HOMES,
        ("where does {x:a} live", "where is the home of {x:a}", "what is the home of {x:a}"),
        ("where {x:a} lives", "what the home of {x:a} is"),
        "the home of {x:a} is the {y}",
    ),
    Kind(
        "sound",
        SOUNDS,
        ("what does {x:a} say", "what sound does {x:a} make", "which sound does {x:a} make"),
        ("what {x:a} says", "what sound {x:a} makes"),
        "{x:a} says {y}",
        ("the sound of {x:a} is {y}",),
    ),
    Kind(
        "opposite",
        OPPOSITES,
        ("what is the opposite of {x}", "which word is the opposite of {x}", "which word means the opposite of {x}"),
        ("what the opposite of {x} is", "the opposite of {x}"),
        "the opposite of {x} is {y}",
        weight=2,
    ),
    Kind(
        "colour",
        COLOURS,
        ("what colour is {x}", "which colour is {x}", "what is the colour of {x}"),
        ("what colour {x} is", "the colour of {x}"),
        "the colour of {x} is {y}",
        ("{x} is {y}",),
    ),
    Kind(
        "plural",
        PLURALS,
        ("what is the plural of {x}", "what do you call more than one {x}", "how do you write the plural of {x}"),
        ("what the plural of {x} is", "the plural of {x}"),
        "the plural of {x} is {y}",
        ("one {x}, two {y}",),
    ),
    Kind(
        "past",
        PAST,
        ("what is the past of {x}", "what is the past tense of {x}", "what is the past form of {x}"),
        ("what the past of {x} is", "the past tense of {x}"),
        "the past of {x} is {y}",
        ("today I {x}, yesterday I {y}",),
    ),
    Kind(
        "worker",
        WORKERS,
        ("who {x}", "what do you call someone who {x}", "what is the job of someone who {x}"),
        ("who {x}", "what you call someone who {x}"),
        "someone who {x} is {y}",
        ("{y} is someone who {x}",),
    ),
    Kind(
        "tool",
        TOOLS,
        ("what do you need to {x}", "what do you use to {x}", "which thing do you need to {x}"),
        ("what you need to {x}", "what you use to {x}"),
        "to {x} you need {y}",
        ("you need {y} to {x}",),
    ),
    Kind(
        "amount",
        AMOUNTS,
        ("how many {x} are there", "how many {x}", "what is the number of {x}"),
        ("how many {x} there are", "the number of {x}"),
        "the number of {x} is {y}",
        ("there are {y} {x}",),
    ),
    Kind(
        "month_after",
        NEXT_MONTH,
        ("which month comes after {x}", "what month follows {x}", "what is the month after {x}"),
        ("which month comes after {x}", "the month after {x}"),
        "the month after {x} is {y}",
        ("after {x} comes {y}",),
    ),
    Kind(
        "month_before",
        MONTH_BEFORE,
        ("which month comes before {x}", "what is the month before {x}"),
        ("which month comes before {x}", "the month before {x}"),
        "the month before {x} is {y}",
        ("before {x} comes {y}",),
    ),
    Kind(
        "month_days",
        DAYS_IN,
        ("how many days does {x} have", "how many days are there in {x}", "how long is {x}"),
        ("how many days {x} has", "the number of days in {x}"),
        "{x} has {y} days",
    ),
    Kind(
        "day_after",
        NEXT_DAY,
        ("which day comes after {x}", "what day follows {x}", "what is the day after {x}"),
        ("which day comes after {x}", "the day after {x}"),
        "the day after {x} is {y}",
        ("after {x} comes {y}",),
    ),
    Kind(
        "day_before",
        DAY_BEFORE,
        ("which day comes before {x}", "what is the day before {x}"),
        ("which day comes before {x}", "the day before {x}"),
        "the day before {x} is {y}",
        ("before {x} comes {y}",),
    ),
)
