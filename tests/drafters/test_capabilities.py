"""Capabilities are asked for with `isinstance`: whoever's class has the methods has them, whatever it is called."""

from specviz.drafters import capabilities
from specviz.drafters.base import DRAFTERS
from specviz.drafters.capabilities import Capability, Observes, Releases

ALL = [kind for kind in vars(capabilities).values() if type(kind) is Capability]


class Watcher:
    """It names no capability in its class line."""

    def observe(self, outcome: object) -> None: ...


def test_a_class_that_has_the_methods_has_the_capability_without_naming_it() -> None:
    assert isinstance(Watcher(), Observes)
    assert not isinstance(Watcher(), Releases)
    assert not isinstance(object(), Observes)


def test_every_registered_drafter_has_exactly_the_capabilities_whose_methods_it_has() -> None:
    assert len(ALL) == 15
    for drafter in DRAFTERS.names():
        kind = DRAFTERS.get(drafter)
        for capability in ALL:
            methods = {name for base in capability.__mro__ if type(base) is Capability for name in vars(base)}
            methods = {name for name in methods if not name.startswith("_")}
            assert isinstance(kind.of({}), capability) == all(hasattr(kind, name) for name in methods), (
                drafter,
                capability.__name__,
            )
