"""The player's scripts under node: the pure functions' own tests, and the syntax of every file."""

import re
from pathlib import Path

import pytest

from specviz.app.components.standalone import ENGINE, NEEDS, script_names, scripts
from specviz.errors import SpecVizError
from specviz.resources import read_text
from tests.js.node import ROOT, run

SCRIPTS = ROOT / "assets" / "js"
LONGEST, MOST_LINES = 120, 400


def test_every_script_is_shipped_and_short() -> None:
    files = sorted(SCRIPTS.rglob("*.js"))
    assert {str(file.relative_to(SCRIPTS)) for file in files} == set(script_names())
    assert len({file.stem for file in files}) == len(files)
    for file in (*files, *(ROOT / "tests" / "js").glob("*.js")):
        lines = file.read_text(encoding="utf-8").splitlines()
        assert len(lines) <= MOST_LINES, f"{file.name} has {len(lines)} lines; split it."
        long = [number for number, line in enumerate(lines, 1) if len(line) > LONGEST]
        assert not long, f"{file.name} has lines of more than {LONGEST} characters: {long}"


def test_every_script_says_which_others_must_stand_before_it() -> None:
    for file in SCRIPTS.rglob("*.js"):
        assert NEEDS.search(file.read_text(encoding="utf-8")), (
            f"{file.name} has no line `// needs: …` above its `(function (S) {{`: the scripts whose names it uses, or "
            "`nothing`."
        )


def test_the_engine_is_no_part_of_the_player_which_uses_none_of_its_scripts() -> None:
    assert f"{ENGINE}/llama.js" in script_names()
    assert "class Llama" not in scripts()
    engine = {file.stem for file in (SCRIPTS / ENGINE).glob("*.js")}
    for file in SCRIPTS.rglob("*.js"):
        if file.parent.name != ENGINE:
            lines = NEEDS.findall(read_text(file))
            assert not engine & {name for line in lines for name in re.findall(r"\w+", line)}, file.name


def test_a_script_comes_after_those_it_needs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, text in {"a": "// needs: c, b\n", "b": "// needs: c\n", "c": "// needs: nothing\n", "0": "1;\n"}.items():
        folder = tmp_path / ("last" if name == "a" else "first")
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.js").write_text(text, encoding="utf-8")
    monkeypatch.setattr("specviz.app.components.standalone.asset_path", lambda *parts: tmp_path)
    assert script_names.__wrapped__() == ("first/c.js", "first/b.js", "last/a.js", "first/0.js")
    (tmp_path / "first" / "c.js").write_text("// needs: a\n", encoding="utf-8")
    with pytest.raises(SpecVizError, match="ring"):
        script_names.__wrapped__()
    (tmp_path / "first" / "c.js").write_text("// needs: nobody\n", encoding="utf-8")
    with pytest.raises(SpecVizError, match="nobody"):
        script_names.__wrapped__()


def test_no_script_writes_markup_and_none_but_the_engines_worker_fetches() -> None:
    for file in SCRIPTS.rglob("*.js"):
        text = file.read_text(encoding="utf-8")
        for word in ("innerHTML", "outerHTML =", "insertAdjacentHTML", "document.write", "eval(", "fetch(", "</script"):
            if (word, file.stem) != ("fetch(", "download"):
                assert word not in text, f"{file.name} contains {word}"


PARSED = """
const { readFileSync } = require("node:fs");
const { Script } = require("node:vm");
for (const filename of process.argv.slice(1)) new Script(readFileSync(filename, "utf-8"), { filename });
"""


def test_every_script_parses() -> None:
    parsed = run("-e", PARSED, *(str(SCRIPTS / name) for name in script_names()))
    assert parsed.returncode == 0, parsed.stderr


def test_the_pure_functions() -> None:
    """In one process: one for each file takes six times as long."""
    tested = run("--test", "--test-isolation=none", *map(str, sorted((ROOT / "tests" / "js").glob("*.test.js"))))
    assert tested.returncode == 0, tested.stdout + tested.stderr


def test_what_the_verifiers_declare_stands_before_the_scripts_and_cannot_end_them() -> None:
    text = scripts()
    assert "};\n{\n" in text  # in a block: the scripts' own names are no names of the page
    assert text.endswith("\n}")
    assert text.startswith('globalThis.SpecViz = {"DECLARED":{"block":')
    assert "<" not in text[: text.index("};\n")]


CSS = (Path(__file__).parents[2] / "assets" / "css" / "tokens.css").read_text(encoding="utf-8")
PAIRS = dict(re.findall(r"--sv-([\w-]+): light-dark\((#\w{6}, #\w{6})\)", CSS))
TEXTS = ["ink", "quiet", "accepted", "rejected", "alarm", "unreached", "correction", "bonus", "target-ink", "draft-ink"]
GROUNDS = ["ground", "soft", "pick"]


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_black_on_white_is_twenty_one_to_one() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize("light", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("text", TEXTS)
def test_text_can_be_read(text: str, ground: str, light: int) -> None:
    ratio = contrast(PAIRS[text].split(", ")[light], PAIRS[ground].split(", ")[light])
    assert ratio >= 4.5, f"{text} on {ground}: {ratio:.2f}"
