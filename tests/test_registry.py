"""Plug-ins are found by name, once, in a stable order, and every refusal names its cause."""

import sys
from importlib.metadata import EntryPoint
from threading import Event, Thread

import pytest

from specviz import registry
from specviz.errors import OptionError
from specviz.options import Options
from specviz.registry import PlugIn, Registry


class Pear:
    pass


class Apple:
    pass


@pytest.fixture
def fruit():
    fruit = Registry("fruit")
    fruit.register("pear")(Pear)
    fruit.register("apple")(Apple)
    return fruit


@pytest.fixture
def orchard(tmp_path, monkeypatch):
    """write("plum", source) puts a module into the package `orchard`; the package registers into `orchard.FRUIT`."""
    folder = tmp_path / "orchard"
    folder.mkdir()
    (folder / "__init__.py").write_text("from specviz.registry import Registry\nFRUIT = Registry('fruit', 'orchard')\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(registry, "entry_points", lambda group: [])

    def write(name, source):
        (folder / f"{name}.py").write_text(f"from orchard import FRUIT\n{source}\n")

    write.folder = folder
    yield write
    for name in [name for name in sys.modules if name.startswith("orchard")]:
        del sys.modules[name]


def fruit_of_orchard():
    import orchard

    return orchard.FRUIT


def test_a_name_finds_what_was_registered_under_it(fruit):
    assert fruit.get("pear") is Pear


def test_names_come_in_alphabetical_order_whatever_the_order_of_registration(fruit):
    assert fruit.names() == ["apple", "pear"]
    assert fruit.items() == [("apple", Apple), ("pear", Pear)]


def test_the_decorator_returns_the_class_unchanged():
    fruit = Registry("fruit")

    @fruit.register("plum")
    class Plum:
        pass

    assert fruit.get("plum") is Plum
    assert Plum.__name__ == "Plum"


class Recipe(Options):
    """Nothing to choose."""


def test_a_class_line_says_which_options_a_plug_in_has_and_its_heirs_have_them_too():
    class Cake(PlugIn[Recipe]):
        pass

    class SmallCake(Cake):
        pass

    class Bread(PlugIn[Options]):
        pass

    assert [kind.options_type for kind in (Cake, SmallCake, Bread)] == [Recipe, Recipe, Options]
    assert type(Cake(Recipe()).options) is Recipe


def test_the_name_of_a_class_is_that_of_its_registration_whatever_its_body_says():
    fruit = Registry("fruit")

    @fruit.register("plum")
    class Plum:
        name = "prune"

    assert Plum.name == "plum"


def test_a_misspelt_name_is_answered_with_the_nearest_one(fruit):
    with pytest.raises(OptionError, match=r"^there is no fruit called 'appel'; did you mean 'apple'\?$"):
        fruit.get("appel")


def test_a_strange_name_is_answered_with_all_names(fruit):
    with pytest.raises(OptionError, match=r"^there is no fruit called 'xyz'; known: apple, pear\.$"):
        fruit.get("xyz")


def test_a_name_taken_twice_names_both_homes():
    fruit = Registry("fruit")
    fruit.register("plum")(type("Plum", (), {"__module__": "garden.old"}))
    with pytest.raises(OptionError, match=r"two fruits are called 'plum': garden\.old and garden\.new; rename one"):
        fruit.register("plum")(type("Plum", (), {"__module__": "garden.new"}))


def test_a_module_in_the_folder_is_found_without_being_imported_by_anyone(orchard):
    orchard("plum", "@FRUIT.register('plum')\nclass plum: pass")
    orchard("fig", "@FRUIT.register('fig')\nclass fig: pass")
    assert fruit_of_orchard().names() == ["fig", "plum"]


def test_nothing_is_imported_before_the_first_look(orchard):
    orchard("plum", "raise AssertionError('imported too early')")
    assert fruit_of_orchard().kind == "fruit"


def test_a_plug_in_may_ask_for_names_while_it_is_imported(orchard):
    orchard("fig", "@FRUIT.register('fig')\nclass fig: pass")
    orchard("plum", "@FRUIT.register('plum')\nclass plum: known = FRUIT.names()")
    assert fruit_of_orchard().get("plum").known == ["fig"]


def test_another_thread_that_asks_meanwhile_waits_for_the_whole_list(orchard):
    """A page that was used while its engine was imported said that most methods do not exist."""
    orchard("fig", "@FRUIT.register('fig')\nclass fig: pass")
    orchard(
        "plum",
        "import orchard\norchard.begun.set()\nassert orchard.go.wait(30)\n@FRUIT.register('plum')\nclass plum: pass",
    )
    fruit = fruit_of_orchard()
    package = sys.modules["orchard"]
    package.begun, package.go = Event(), Event()
    found = []
    threads = [Thread(target=lambda: found.append(fruit.names())) for _ in range(2)]
    threads[0].start()
    assert package.begun.wait(30)
    threads[1].start()
    threads[1].join(0.2)
    package.go.set()
    for thread in threads:
        thread.join(30)
    assert found == [["fig", "plum"]] * 2


def test_a_broken_module_is_reported_at_every_look_not_only_at_the_first(orchard):
    """The list was once marked as complete before it was, so that the second look silently gave half of it."""
    orchard("fig", "@FRUIT.register('fig')\nclass fig: pass")
    orchard("plum", "import no_such_module_anywhere")
    for _ in range(2):
        with pytest.raises(ModuleNotFoundError, match="no_such_module_anywhere"):
            fruit_of_orchard().names()


def test_an_entry_point_of_another_package_is_loaded_from_the_group_of_its_kind(orchard, monkeypatch):
    asked = []

    def points(group):
        asked.append(group)
        return [EntryPoint("kiwi", "orchard_abroad", group)]

    monkeypatch.setattr(registry, "entry_points", points)
    orchard.folder.with_name("orchard_abroad.py").write_text(
        "from orchard import FRUIT\n@FRUIT.register('kiwi')\nclass kiwi: pass\n"
    )
    assert fruit_of_orchard().get("kiwi").__module__ == "orchard_abroad"
    assert asked == ["orchard"], "the group is called like the folder"


def test_a_broken_entry_point_names_the_plug_in_and_what_to_do(orchard, monkeypatch):
    point = EntryPoint("kiwi", "no_such_package_anywhere:Kiwi", "specviz.fruits")
    monkeypatch.setattr(registry, "entry_points", lambda group: [point])
    with pytest.raises(OptionError, match=r"the fruit 'kiwi' of another package .* repair or uninstall that package"):
        fruit_of_orchard().names()
