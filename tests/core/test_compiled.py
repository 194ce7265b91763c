"""A C file compiled into the cache: once, whole, for this processor; and whatever a compiler does, no start breaks."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from specviz.core import compiled

CC = shutil.which("cc")
needs_compiler = pytest.mark.skipif(CC is None, reason="there is no compiler here")


@pytest.fixture(autouse=True)
def kept(monkeypatch, tmp_path):
    """Where libraries are kept; the folder is not there yet."""
    monkeypatch.setenv("SPECVIZ_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "compiled"


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "number.c"
    path.write_text("int number(void) { return 3; }\n", encoding="utf-8")
    return path


@pytest.fixture
def compiler(monkeypatch, tmp_path):
    """compiler("lines of sh") is from now on the one at hand."""

    def write(lines):
        script = tmp_path / "fake-cc"
        script.write_text(f"#!/bin/sh\n{lines}\n", encoding="utf-8")
        script.chmod(0o755)
        monkeypatch.setenv("CC", str(script))

    return write


def library(source: Path):
    """As a process that starts asks for it."""
    return compiled.library.__wrapped__(source)


def test_without_a_compiler_there_is_no_library(monkeypatch, source):
    monkeypatch.setenv("CC", "")
    assert library(source) is None


@needs_compiler
def test_a_library_is_compiled_once_and_another_source_again(kept, source, compiler, tmp_path):
    compiler(f'echo >> {tmp_path}/calls; exec {CC} "$@"')
    for number in (3, 3, 4):
        source.write_text(f"int number(void) {{ return {number}; }}\n", encoding="utf-8")
        assert library(source).number() == number
    assert len(list(kept.iterdir())) == 2
    assert (tmp_path / "calls").read_text() == "\n\n"


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ("exec sleep 20", "timed out after"),
        ("exit 1", "returned non-zero exit status 1"),
        ("exit 0", "cannot open shared object file"),
        ('while [ "$1" != -o ]; do shift; done; echo half > "$2"', "file too short"),
    ],
    ids=["hangs", "fails", "writes nothing", "writes half"],
)
def test_a_compiler_that_fails_gives_no_library_leaves_nothing_and_is_named(
    kept, source, compiler, monkeypatch, caplog, lines, why
):
    monkeypatch.setattr(compiled, "COMPILE_S", 0.2 if "sleep" in lines else 20)
    compiler(lines)
    assert library(source) is None
    assert list(kept.iterdir()) == []
    assert "number.c was not compiled" in caplog.text
    assert why in caplog.text


@needs_compiler
def test_a_damaged_library_is_compiled_again(kept, source):
    library(source)
    (path,) = kept.iterdir()
    path.unlink()
    path.write_text("damaged", encoding="utf-8")
    source.touch()
    assert library(source).number() == 3


@needs_compiler
def test_where_the_cache_cannot_be_written_a_library_lives_as_long_as_the_process(monkeypatch, source, tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("SPECVIZ_CACHE", str(tmp_path / "file" / "cache"))
    monkeypatch.setattr(compiled, "scratch", lambda: tmp_path)
    assert library(source).number() == 3
    assert len(list(tmp_path.glob("number-*.so"))) == 1


@needs_compiler
def test_a_user_without_a_home_gets_a_library(monkeypatch, source, tmp_path):
    monkeypatch.delenv("SPECVIZ_CACHE")
    monkeypatch.setattr(compiled, "scratch", lambda: tmp_path)
    monkeypatch.setattr(Path, "home", lambda: (_ for _ in ()).throw(RuntimeError("no home")))
    assert library(source).number() == 3


@needs_compiler
def test_two_processes_compile_at_once_each_in_a_folder_of_its_own(kept, source, compiler, tmp_path):
    """Each waits in its compiler until the other is there too."""
    begun = tmp_path / "begun"
    begun.mkdir()
    wait = f"while [ $(ls {begun} | wc -l) -lt 2 ]; do sleep 0.01; done"
    compiler(f'echo "$@" > {begun}/$$\n{wait}\nexec {CC} "$@"')
    code = (
        "from pathlib import Path; from specviz.core.compiled import library; "
        f"print(library(Path({str(source)!r})).number())"
    )
    both = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [process.communicate()[0] for process in both] == ["3\n", "3\n"]
    assert len({path.read_text() for path in begun.iterdir()}) == 2
    assert [path.suffix for path in kept.iterdir()] == [".so"]


@needs_compiler
def test_another_processor_with_the_same_cache_compiles_for_itself(kept, source, monkeypatch, tmp_path):
    monkeypatch.setattr(compiled, "CPU_INFO", tmp_path / "cpuinfo")
    second = "processor: 1\nflags: later processors are not asked\n"
    for flags, libraries in (("fma avx2", 1), ("fma avx2", 1), ("fma avx2 avx512f", 2)):
        compiled.CPU_INFO.write_text(
            f"processor: 0\ncpu MHz: {len(list(tmp_path.iterdir()))}\nflags: {flags}\n\n{second}"
        )
        assert library(source).number() == 3
        assert len(list(kept.iterdir())) == libraries
