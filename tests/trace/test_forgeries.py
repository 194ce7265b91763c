"""A class of forgeries is found wherever a recording has it, or what it changed is named as not recomputed."""

import pytest

from specviz.trace.check import check, errors, unchecked
from tests.trace.forgeries import beside, drafts, probabilities  # noqa: F401 - they register their classes
from tests.trace.forgeries.forging import CLASSES, Class


@pytest.mark.parametrize("one", [pytest.param(one, id=one.name) for one in CLASSES])
def test_no_forgery_of_a_class_is_silently_sound(one: Class) -> None:
    made = found = 0
    for forged in one.make():
        made += 1
        if errors(check(forged.trace)):
            found += 1
        else:
            said = any(gap.startswith(one.named) for gap in unchecked(forged.trace))
            assert said, f"silently sound: {forged.what}"
    assert made >= one.made, f"only {made} were made"
    assert found >= one.found, f"only {found} of {made} were found"
