"""A C file of this package as a library for this processor, where a compiler is at hand; nothing needs one.

Compiled once per machine, into the cache, and found again by what it was made of: source, flags, compiler, processor.
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
from tempfile import TemporaryDirectory

from specviz.resources import cache_folder

log = logging.getLogger(__name__)

FLAGS = ("-O2", "-ftree-vectorize", "-fvect-cost-model=dynamic", "-march=native", "-fno-math-errno", "-fPIC", "-shared")
COMPILE_S = 120
"""A compiler that takes longer is given up; two seconds are usual."""


@cache
def library(source: Path) -> ctypes.CDLL | None:
    """The compiled file; None where there is no compiler (`CC`, else cc; an empty `CC` means none), or it cannot."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        return None
    text = source.read_bytes()
    made_of = [text, " ".join(FLAGS).encode(), compiler.encode(), _processor()]
    name = hashlib.sha256(b"\0".join(made_of)).hexdigest()[:32]
    path = cache_folder() / "compiled" / f"{source.stem}-{name}.so"
    try:
        if not path.is_file():
            _compile(compiler, source, path)
        return ctypes.CDLL(str(path))
    except (OSError, subprocess.SubprocessError) as error:
        log.warning("%s was not compiled (%s), so passes over a few rows take the slower way.", source.name, error)
        return None


def _compile(compiler: str, source: Path, path: Path) -> None:
    """Whole or not at all: another process may be doing the same."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=path.parent) as folder:
        made = Path(folder) / path.name
        subprocess.run(
            [compiler, *FLAGS, "-o", str(made), str(source)], check=True, capture_output=True, timeout=COMPILE_S
        )
        made.replace(path)


def _processor() -> bytes:
    """What the code is made for: the instructions that the first processor declares, or its kind."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    declared = [line for line in lines if line.startswith(("flags", "Features", "model name"))][:2]
    return "\n".join([platform.machine(), platform.processor(), *declared]).encode()
