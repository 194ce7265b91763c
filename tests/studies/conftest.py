"""The miniature target and texts of the training tests, for studies that train networks."""

from tests.training.conftest import module_target, module_work

__all__ = ["module_target", "module_work"]
