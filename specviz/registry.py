"""What plug-ins of every kind have in common, and name to plug-in class: how a drafter or a verifier is found.

One file per plug-in in the registry's folder, or an entry point of another package in the group of the folder's name
(`specviz.drafters`); nothing else to edit.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from threading import RLock
from typing import Any, ClassVar, Generic, Self, TypeVar, get_args

from specviz.errors import OptionError
from specviz.options import Options, from_mapping

T = TypeVar("T", bound=Any)
OptionsT_co = TypeVar("OptionsT_co", bound=Options, covariant=True)


class PlugIn(Generic[OptionsT_co]):
    """A method of some kind: a name, options, a docstring that people read, and whether it keeps the target's law.

    `class X(Kind[XOptions])` says which options it has, `@KINDS.register("x")` what it is called.
    """

    name: ClassVar[str]
    """set by `register`"""
    options_type: ClassVar[type[Options]] = Options
    """set by `Kind[XOptions]`"""
    lossless: ClassVar[bool] = True
    """False: the text may follow another law than the target's; marked in red wherever it appears"""

    options: OptionsT_co
    """what it runs with"""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        arguments = [one for base in vars(cls).get("__orig_bases__", ()) for one in get_args(base)]
        own = [argument for argument in arguments if isinstance(argument, type) and issubclass(argument, Options)]
        if own:
            cls.options_type = own[0]

    def __init__(self, options: OptionsT_co) -> None:
        """Cheap: made before any model is loaded, so that a screen can ask what it would do."""
        self.options = options

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        """Made with options from values or strings; the defaults for those not given. Raises OptionError."""
        chosen: Any = from_mapping(cls.options_type, options)
        return cls(chosen)


class Registry(Generic[T]):
    """Plug-ins of one kind under their names."""

    def __init__(self, kind: str, package: str | None = None, inner: str = "") -> None:
        """`kind` is the word used in messages (`drafter`); modules of `package` are imported on the first look. With
        `inner` each plug-in is a folder of `package` that has a module of that name, and that is imported."""
        self.kind = kind
        self._package = package
        self._inner = inner
        self._entries: dict[str, T] = {}
        self._discovered = package is None
        self._discovering = RLock()
        """another thread waits for the whole list; the same one may ask while a plug-in is imported"""

    def register(self, name: str) -> Callable[[T], T]:
        """Class decorator: the class is found under this name and carries it as `name`.

        Raises OptionError where the name is taken, naming both modules.
        """

        def decorate(entry: T) -> T:
            self._enter(name, entry)
            entry.name = name
            return entry

        return decorate

    def add(self, entry: T) -> T:
        """An entry that has its name already. Raises OptionError where that is taken."""
        self._enter(entry.name, entry)
        return entry

    def _enter(self, name: str, entry: T) -> None:
        taken = self._entries.get(name)
        if taken is not None:
            several = f"{self.kind[:-1]}ies" if self.kind.endswith("y") else f"{self.kind}s"
            raise OptionError(
                f"two {several} are called '{name}': {_home(taken)} and {_home(entry)}; rename one of them."
            )
        self._entries[name] = entry

    def names(self) -> list[str]:
        """All names, alphabetically."""
        self._discover()
        return sorted(self._entries)

    def get(self, name: str) -> T:
        """The plug-in called `name`. Raises OptionError with the nearest name where there is none."""
        self._discover()
        if name not in self._entries:
            near = difflib.get_close_matches(name, self._entries, n=1)
            hint = f"did you mean '{near[0]}'?" if near else f"known: {', '.join(self.names())}."
            raise OptionError(f"there is no {self.kind} called {name[:60]!r}; {hint}")
        return self._entries[name]

    def items(self) -> list[tuple[str, T]]:
        """Name and plug-in, alphabetically by name."""
        return [(name, self._entries[name]) for name in self.names()]

    def _discover(self) -> None:
        with self._discovering:
            self._look()

    def _look(self) -> None:
        if self._discovered or self._package is None:
            return
        self._discovered = True  # first, because a plug-in may ask for names while it is imported
        try:
            package = importlib.import_module(self._package)
            inside = [info for info in pkgutil.iter_modules(package.__path__) if info.ispkg or not self._inner]
            for module in sorted(info.name for info in inside):
                path = ".".join(filter(None, (self._package, module, self._inner)))
                if not self._inner or find_spec(path) is not None:
                    importlib.import_module(path)
            for point in sorted(entry_points(group=self._package), key=lambda point: point.name):
                self._load(point)
        except BaseException:
            self._discovered = False  # or the next look would show half a list as if it were whole
            raise

    def _load(self, point: EntryPoint) -> None:
        try:
            point.load()
        except (ImportError, AttributeError) as error:
            raise OptionError(
                f"the {self.kind} '{point.name}' of another package ({point.value}) cannot be loaded: {error}; "
                "repair or uninstall that package."
            ) from error


def _home(entry: Any) -> str:
    return str(getattr(entry, "home", entry.__module__))
