"""The planted faults: small edits that read well and are wrong, each with the tests that must see it.

A new fault is one entry in the file of its area. `find` stands exactly once in the file; `tests/mutants/test_faults.py`
holds that.
"""

from importlib import import_module
from pkgutil import iter_modules

from tests.mutants.faults.fault import Fault

AREAS = [import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__) if found.name != "fault"]
FAULTS = tuple(
    Fault(name, file, planted.find, planted.replace, tuple(tests), planted.hangs)
    for area in AREAS
    for (file, *tests), edits in area.FAULTS.items()
    for name, planted in edits.items()
)
