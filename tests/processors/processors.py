"""Compiled passes as other processors of x86 run them, whatever stands here.

Instructions that this processor has are kept from the compiler, and Intel's tiles, which it may not have, are stood in
for in plain C (`tiles.h`). Where there is no x86, or no compiler, passes are tested as they are compiled here alone.
"""

import platform
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from specviz.core import compiled
from specviz.lm.products import SOURCE

STAND_IN = Path(__file__).with_name("tiles.h")
TILES = ("-include", str(STAND_IN))
NO_TILES = ("-U__AMX_BF16__",)
HAS_X86 = platform.machine() in ("x86_64", "AMD64")
HAS_AVX512 = torch.backends.cpu.get_cpu_capability() == "AVX512"


@dataclass(frozen=True, slots=True)
class Processor:
    """A kind of processor, as the compiler is told of it."""

    flags: tuple[str, ...] = ()
    tiles: bool | None = None
    """whether it multiplies by tiles; None: as it comes"""
    rounds: bool | None = None
    """whether it rounds the rows of bfloat16 models; None: as it comes"""
    is_here: bool = HAS_X86
    """whether this one can run what is compiled for it"""


PROCESSORS = {
    "this processor": Processor(is_here=True),
    "tiles": Processor(TILES, tiles=True, rounds=False, is_here=HAS_X86 and HAS_AVX512),
    "tiles that are not lent": Processor((*TILES, "-DNO_TILES_ARE_LENT"), tiles=False, is_here=HAS_X86 and HAS_AVX512),
    "AVX-512 without bfloat16": Processor((*NO_TILES, "-mno-avx512bf16"), tiles=False, rounds=False),
    "AVX2, as Zen 3 is tuned": Processor((*NO_TILES, "-mno-avx512f", "-mtune=znver3"), tiles=False, rounds=False),
}


@contextmanager
def compiled_for(processor: Processor) -> Iterator[None]:
    """What is compiled meanwhile is compiled for this kind, and what was compiled before is not used."""
    before = compiled.FLAGS, compiled.HEADERS
    compiled.FLAGS, compiled.HEADERS = (*compiled.FLAGS, *processor.flags), (*compiled.HEADERS, STAND_IN)
    compiled.library.cache_clear()
    try:
        yield
    finally:
        compiled.FLAGS, compiled.HEADERS = before
        compiled.library.cache_clear()


on_every_processor = pytest.mark.usefixtures("processor")
"""A test that runs once for each kind."""


@pytest.fixture(params=PROCESSORS.values(), ids=PROCESSORS.keys())
def processor(request: pytest.FixtureRequest) -> Iterator[Processor]:
    """Each kind in turn; a source that cannot be compiled for one is a failure, not a reason to do without."""
    kind: Processor = request.param
    if not kind.is_here:
        pytest.skip("this processor cannot run it")
    with compiled_for(kind):
        made = compiled.library(SOURCE)
        assert made is not None
        assert kind.tiles in (None, made.tiles())
        assert kind.rounds in (None, made.rounds())
        yield kind
