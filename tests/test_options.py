"""Options hold their type and range whoever builds them, and every refusal says what would be right."""

from dataclasses import dataclass, field

import pytest

from specviz.errors import OptionError
from specviz.options import OptionDescription, Options, describe, from_mapping, in_effect, option, to_mapping


@dataclass(frozen=True)
class Recipe(Options):
    minutes: int = option(4, help="time in the oven", minimum=1, maximum=16)
    salt: float = option(0.5, help="grams", minimum=0)
    sweet: bool = option(False, help="with sugar")
    shape: str = option("round", help="of the loaf", choices=("round", "long"))
    layers: tuple[int, ...] = option((3, 2), help="leaves per level", minimum=1, maximum=9)


def refusal(**values):
    with pytest.raises(OptionError) as caught:
        Recipe(**values)
    return str(caught.value)


def refusal_of_text(**values):
    with pytest.raises(OptionError) as caught:
        from_mapping(Recipe, values)
    return str(caught.value)


def test_describe_lists_every_field_in_order_as_plain_data():
    assert describe(Recipe) == [
        OptionDescription("minutes", "int", 4, "time in the oven", 1, 16),
        OptionDescription("salt", "float", 0.5, "grams", 0, None),
        OptionDescription("sweet", "bool", False, "with sugar"),
        OptionDescription("shape", "str", "round", "of the loaf", choices=("round", "long")),
        OptionDescription("layers", "ints", (3, 2), "leaves per level", 1, 9),
    ]


def test_options_without_fields_are_legal():
    assert describe(Options) == []
    assert from_mapping(Options, {}) == Options()


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("minutes", "7", 7),
        ("minutes", 7.0, 7),
        ("salt", "1e-1", 0.1),
        ("salt", 2, 2.0),
        ("sweet", "true", True),
        ("sweet", " Off ", False),
        ("shape", "long", "long"),
        ("layers", "3,2,1", (3, 2, 1)),
        ("layers", " 3, 2 ,", (3, 2)),
        ("layers", "", ()),
        ("layers", [4, 4], (4, 4)),
    ],
)
def test_text_and_json_become_values_by_the_type_of_the_field(name, text, value):
    parsed = getattr(from_mapping(Recipe, {name: text}), name)
    assert parsed == value
    assert type(parsed) is type(value)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("minutes", "soon", "minutes is 'soon', but must be a whole number."),
        ("minutes", 2.5, "minutes is 2.5, but must be a whole number."),
        ("minutes", True, "minutes is True, but must be a whole number."),
        ("minutes", None, "minutes is None, but must be a whole number."),
        ("salt", "much", "salt is 'much', but must be a number."),
        ("salt", "nan", "salt is nan, but must be a number."),
        ("salt", "inf", "salt is inf, but must be a number."),
        ("salt", True, "salt is True, but must be a number."),
        ("sweet", "maybe", "sweet is 'maybe', but must be true or false."),
        ("layers", "3,,1", "layers is '3,,1', but must be whole numbers separated by commas, such as 3,2,1."),
        ("layers", 3, "layers is 3, but must be whole numbers separated by commas, such as 3,2,1."),
    ],
)
def test_text_of_the_wrong_type_is_refused_with_the_type_that_is_wanted(name, text, message):
    assert refusal_of_text(**{name: text}) == message


@pytest.mark.parametrize(
    ("name", "value"), [("minutes", "3"), ("minutes", True), ("sweet", 1), ("shape", 3), ("layers", [3, 2])]
)
def test_a_value_of_the_wrong_type_is_refused_in_python_too(name, value):
    """Text once slipped past the range: Recipe(minutes="99") was built without a word."""
    assert refusal(**{name: value}).startswith(f"{name} is {value!r}, but must be ")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"minutes": 0}, "minutes is 0, but must be between 1 and 16; the nearest legal value is 1."),
        ({"minutes": 99}, "minutes is 99, but must be between 1 and 16; the nearest legal value is 16."),
        ({"salt": -0.5}, "salt is -0.5, but must be at least 0; the nearest legal value is 0."),
        ({"layers": (3, 10)}, "layers is 10, but must be between 1 and 9; the nearest legal value is 9."),
    ],
)
def test_a_value_out_of_range_is_refused_with_the_nearest_legal_one(values, message):
    assert refusal(**values) == message


def test_only_a_maximum_reads_as_at_most():
    @dataclass(frozen=True)
    class Small(Options):
        size: int = option(1, help="", maximum=2)

    with pytest.raises(OptionError, match=r"^size is 3, but must be at most 2; the nearest legal value is 2\.$"):
        Small(size=3)


def test_the_bounds_themselves_are_legal():
    assert Recipe(minutes=1).minutes == 1
    assert Recipe(minutes=16).minutes == 16


def test_a_choice_outside_the_list_is_refused_with_the_nearest_one():
    assert refusal(shape="lon") == "shape is 'lon', but must be one of round, long; did you mean 'long'?"
    assert refusal(shape="xyz") == "shape is 'xyz', but must be one of round, long."


@dataclass(frozen=True)
class Bakery(Options):
    loaves: int = option(4, help="as many", unless="trays", shape=True)
    trays: tuple[int, ...] = option((), help="instead of loaves", shape=True)
    glaze: bool = option(False, help="with glaze")
    sugar: float = option(0.5, help="in the glaze", needs="glaze")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"loaves": 9, "trays": (3, 2)}, "loaves is 9, but trays 3,2 replaces it; leave it at 4, or trays empty."),
        ({"sugar": 0.9}, "sugar is 0.9, but without glaze it does nothing; leave it at 0.5."),
    ],
)
def test_a_value_that_would_do_nothing_beside_the_others_is_refused(values, message):
    with pytest.raises(OptionError) as caught:
        Bakery(**values)
    assert str(caught.value) == message


def test_values_that_count_and_defaults_that_do_not_are_taken():
    assert (Bakery(loaves=9).loaves, Bakery(trays=(3,)).loaves, Bakery(glaze=True, sugar=0.9).sugar) == (9, 4, 0.9)


def test_only_what_counts_is_reported():
    assert in_effect(Bakery()) == {"loaves": 4, "trays": [], "glaze": False}
    assert in_effect(Bakery(trays=(3,), glaze=True)) == {"trays": [3], "glaze": True, "sugar": 0.5}
    assert in_effect(Bakery(), has_policy=True) == {"glaze": False}


def test_an_unknown_option_is_refused_with_the_nearest_one():
    assert refusal_of_text(minuts="3") == "there is no option 'minuts' here; did you mean 'minutes'?"
    assert refusal_of_text(q="3") == "there is no option 'q' here; known: minutes, salt, sweet, shape, layers."


def test_to_mapping_is_json_and_comes_back_equal():
    recipe = Recipe(minutes=7, layers=(2, 2))
    assert to_mapping(recipe) == {"minutes": 7, "salt": 0.5, "sweet": False, "shape": "round", "layers": [2, 2]}
    assert from_mapping(Recipe, to_mapping(recipe)) == recipe


def test_options_cannot_be_changed():
    with pytest.raises(AttributeError):
        Recipe().minutes = 5


def test_a_default_out_of_range_is_refused_as_soon_as_it_is_built():
    @dataclass(frozen=True)
    class Wrong(Options):
        size: int = option(5, help="", maximum=2)

    with pytest.raises(OptionError, match="size is 5"):
        Wrong()


def test_a_field_without_a_default_cannot_be_an_option():
    @dataclass(frozen=True)
    class Bare(Options):
        sizes: tuple[int, ...] = field(default_factory=tuple)

    with pytest.raises(OptionError, match=r"Bare\.sizes has no default"):
        describe(Bare)


def test_a_type_that_no_flag_can_carry_is_refused():
    @dataclass(frozen=True)
    class Odd(Options):
        table: dict = option(0, help="")

    with pytest.raises(OptionError, match=r"an option may be int, float, bool, str or tuple\[int, \.\.\.\], not "):
        describe(Odd)


@dataclass(frozen=True)
class Wide(Options):
    width: int = option(1, help="of anything", minimum=0)
    share: float = option(1.0, help="of anything")


@pytest.mark.parametrize("width", [2**53, 16**5_000], ids=["one digit too many", "thousands"])
def test_an_integer_that_not_every_reader_holds_is_refused_in_a_sentence_that_can_be_written(width):
    with pytest.raises(OptionError) as refused:
        Wide(width=width)
    assert "must be between -9007199254740991 and 9007199254740991" in str(refused.value)
    assert len(str(refused.value)) < 300
    assert Wide(width=2**53 - 1, share=1e300).share == 1e300


def test_a_long_value_is_shown_by_its_beginning():
    with pytest.raises(OptionError, match=r"^width is '1{56}…, but must be a whole number\.$"):
        from_mapping(Wide, {"width": "1" * 5_000})
