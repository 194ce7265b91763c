"""A toy target, and a folder of a drafter's module for it; files that need more have a target of their own."""

from pathlib import Path

import pytest

from specviz.drafters.eagle import EagleModule
from specviz.drafters.learned.eagle_network import EagleShape
from specviz.drafters.learned.module import TargetParts, fresh
from specviz.drafters.learned.weights import write_module
from specviz.lm.table import TableModel
from specviz.proof.exhaustive import TARGET_SEED, toy
from tests.processors.processors import processor

__all__ = ["processor"]


@pytest.fixture
def target() -> TableModel:
    return toy(3, TARGET_SEED)


@pytest.fixture
def folder(target, tmp_path: Path) -> Path:
    write_module(fresh(EagleModule, TargetParts.of(target), EagleShape()), tmp_path, {})
    return tmp_path
