"""A C file of this package as a library for this processor, where a compiler is at hand; nothing needs one.

Compiled once per machine, into the cache, and found again by what it was made of: source, flags, compiler, processor.
Whatever goes wrong on the way costs speed and never the start.
"""

from __future__ import annotations

import ctypes
import hashlib
import logging
import os
import platform
import shutil
import subprocess
from functools import cache
from pathlib import Path
from subprocess import DEVNULL
from tempfile import TemporaryDirectory, TemporaryFile

from specviz.resources import cache_folder
from specviz.scratch import scratch

log = logging.getLogger(__name__)

FLAGS = (
    "-O2",
    "-ftree-vectorize",
    "-fvect-cost-model=dynamic",
    "-march=native",
    "-fno-math-errno",
    "--param=avoid-fma-max-bits=0",
    "-fPIC",
    "-shared",
    "-pthread",
)
"""Products that are added up are rounded once, everywhere: tuned for AMD's Zen 2 and 3, GCC rounds them twice in some
loops and not in others, and a row's last bits depended on how many stood beside it. Clang does so untold."""
COMPILE_S = 30
"""A compiler that takes longer is given up; two seconds are usual."""
HEADERS = tuple(sorted(Path(__file__).parents[1].glob("*/*.h")))
"""what the package's C files include"""
CPU_INFO = Path("/proc/cpuinfo")
INSTRUCTIONS = ("flags", "Features", "model name", "CPU implementer", "CPU part")
"""lines of it that say what a processor understands"""


@cache
def library(source: Path) -> ctypes.CDLL | None:
    """The compiled file; None where there is no compiler (`CC`, else cc; an empty `CC` means none), or it cannot."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        return None
    files = [path.read_bytes() for path in (source, *HEADERS)]
    made_of = [*files, " ".join(FLAGS).encode(), compiler.encode(), _processor()]
    digest = hashlib.sha256(b"\0".join(made_of)).hexdigest()[:32]
    try:
        path = _path(f"{source.stem}-{digest}.so")
        return _kept(path) or _compiled(compiler, source, path)
    except (OSError, subprocess.SubprocessError) as error:
        log.warning("%s was not compiled (%s), so passes over a few rows take the slower way.", source.name, error)
        return None


def _path(name: str) -> Path:
    """In the cache; where it is not there and cannot be written, in a folder that goes with this process."""
    try:
        folder = cache_folder() / "compiled"
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / name).is_file():
            TemporaryFile(dir=folder).close()
        return folder / name
    except (OSError, RuntimeError):  # read-only, or a user without a home
        return scratch() / name


def _kept(path: Path) -> ctypes.CDLL | None:
    """What was compiled before; None where that is nothing, or damaged."""
    try:
        return ctypes.CDLL(str(path))
    except OSError:
        return None


def _compiled(compiler: str, source: Path, path: Path) -> ctypes.CDLL:
    """Kept whole, once it could be loaded, or not at all: another process may be doing the same."""
    with TemporaryDirectory(dir=path.parent) as folder:
        made = Path(folder) / path.name
        command = [compiler, *FLAGS, "-o", str(made), str(source)]
        subprocess.run(command, check=True, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL, timeout=COMPILE_S)
        loaded = ctypes.CDLL(str(made))
        made.replace(path)
    return loaded


def _processor() -> bytes:
    """What the code is made for: the instructions that the first processor declares, or its kind."""
    try:
        first = CPU_INFO.read_text(encoding="utf-8").partition("\n\n")[0].splitlines()
    except OSError:
        first = []
    declared = [line for line in first if line.startswith(INSTRUCTIONS)]
    return "\n".join([platform.machine(), platform.processor(), *declared]).encode()
