"""The rules a machine can hold: import contracts, sizes, docstrings, and what must not stand in the code."""

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted((ROOT / "specviz").rglob("*.py"))
BELOW_THE_WAIST = {"core", "lm", "tree_policies", "stop_policies", "drafters", "verifiers", "engine"}
"""folders that decode a text: nothing in them waits, prints or draws from a generator of its own"""
MAY_PRINT = {"cli", "__main__.py", "command.py"}


def relative(path):
    return str(path.relative_to(ROOT))


def folder(path):
    """The folder of `specviz` that a module lies in, or its own name."""
    return path.relative_to(ROOT / "specviz").parts[0]


@cache
def parsed(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def functions(path):
    return [node for node in ast.walk(parsed(path)) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]


def test_import_contracts_are_kept():
    done = subprocess.run(
        [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout


def test_every_module_says_what_it_is_and_stays_small():
    assert not [relative(path) for path in MODULES if not ast.get_docstring(parsed(path))], "no docstring"
    long = [relative(path) for path in MODULES if len(path.read_text(encoding="utf-8").splitlines()) > 400]
    assert not long


def test_no_function_is_longer_than_sixty_lines():
    long = [
        f"{relative(path)}: {f.name} ({f.end_lineno - f.lineno + 1})"
        for path in MODULES
        for f in functions(path)
        if f.end_lineno - f.lineno >= 60
    ]
    assert not long


def test_nothing_runs_text_as_code_or_swallows_every_error():
    found = [
        f"{relative(path)}:{node.lineno}"
        for path in MODULES
        for node in ast.walk(parsed(path))
        if (isinstance(node, ast.ExceptHandler) and node.type is None)
        or (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("eval", "exec"))
    ]
    assert not found


def test_only_the_command_layer_prints():
    found = [
        f"{relative(path)}:{node.lineno}"
        for path in MODULES
        if not MAY_PRINT & set(path.parts)
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert not found


def test_the_engine_never_sleeps():
    engine = [path for path in MODULES if folder(path) in BELOW_THE_WAIST]
    assert len(engine) > 20
    assert not [relative(path) for path in engine if re.search(r"\bsleep\(", path.read_text(encoding="utf-8"))]


def test_the_engine_draws_only_through_its_dice():
    """A number from a global generator would break both replay and the exhaustive proof."""
    foreign = re.compile(
        r"^\s*(import|from) random\b|\bnp\.random\b|manual_seed|torch\.(rand|multinomial|bernoulli)", re.MULTILINE
    )
    engine = [path for path in MODULES if folder(path) in BELOW_THE_WAIST - {"lm"}]
    assert len(engine) > 10
    assert not [relative(path) for path in engine if foreign.search(path.read_text(encoding="utf-8"))]


def test_every_folder_of_modules_is_a_package():
    """Without its `__init__.py` a folder is left out of an installed SpecViz, and import contracts do not see it."""
    assert not [relative(path.parent) for path in MODULES if not (path.parent / "__init__.py").is_file()]


@pytest.mark.parametrize("kind", ["drafters", "tree_policies", "stop_policies"])
def test_methods_of_one_kind_share_only_the_base_and_parts(kind):
    """So that a method can be read, copied and deleted as one file. A verifier may be a variant of the master rule."""
    modules = sorted((ROOT / "specviz" / kind).glob("*.py"))
    assert len(modules) > 3
    allowed = (f"specviz.{kind}.base", f"specviz.{kind}.parts")
    found = []
    for path in modules:
        for node in ast.walk(parsed(path)):
            sources = (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else []
            )
            found += [
                f"{relative(path)}:{node.lineno}"
                for s in sources
                if s.startswith(f"specviz.{kind}") and not s.startswith(allowed)
            ]
    assert not found


def names_compared(tree):
    """(line, texts) of every comparison and every `case` in the code: `x == "a"`, `x in ("a", "b")`, `case "a":`."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Compare, ast.MatchValue)):
            constants = [one.value for one in ast.walk(node) if isinstance(one, ast.Constant)]
            yield (
                node.lineno if isinstance(node, ast.Compare) else node.value.lineno,
                {v for v in constants if isinstance(v, str)},
            )


@pytest.mark.parametrize(
    "code", ["x == 'ngram'", "'ngram' != x", "x in ('a', 'ngram')", "match x:\n case 'ngram': pass"]
)
def test_every_way_to_branch_on_a_name_is_seen(code):
    assert any("ngram" in texts for _, texts in names_compared(ast.parse(code)))


def test_no_branch_on_the_name_of_a_method():
    """What a method needs, it says itself. The trace knows rules by name, because it must not import them."""
    from specviz.drafters.base import DRAFTERS
    from specviz.stop_policies.base import STOPS
    from specviz.tree_policies.base import GROWTHS
    from specviz.verifiers.base import VERIFIERS

    words = {"none", "model", "chain", "confidence", "entropy", "fixed", "levels"}  # also everyday words
    names = {*DRAFTERS.names(), *GROWTHS.names(), *STOPS.names(), *VERIFIERS.names()} - words
    assert {"ngram", "greedy"} <= names
    modules = [path for path in MODULES if "trace" not in path.parts]
    found = [f"{relative(p)}:{line}" for p in modules for line, texts in names_compared(parsed(p)) if texts & names]
    assert not found


def test_colours_stand_in_the_style_sheets_and_the_theme_alone():
    allowed = {"specviz/app/page/theme.py", "specviz/app/parts/style.py"}
    hexes = re.compile(r"""["'\s(]#(?:[0-9a-fA-F]{6}|[0-9a-fA-F]{3})\b""")
    files = [*MODULES, *(ROOT / "assets" / "js").glob("*.js")]
    found = [relative(p) for p in files if relative(p) not in allowed and hexes.search(p.read_text(encoding="utf-8"))]
    assert not found


@pytest.mark.parametrize(
    "module", ["specviz.trace.codec", "specviz.trace.check", "specviz.theory.metrics", "specviz.app.page.build"]
)
def test_the_screen_side_starts_without_torch(module):
    script = f"import sys, {module}; sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], cwd=ROOT).returncode == 0


def test_every_registered_method_has_its_page():
    from specviz.drafters.base import DRAFTERS
    from specviz.stop_policies.base import STOPS
    from specviz.tree_policies.base import GROWTHS
    from specviz.verifiers.base import VERIFIERS

    pages = {path.stem for path in (ROOT / "docs" / "methods").glob("*.md")}
    assert {*DRAFTERS.names(), *GROWTHS.names(), *STOPS.names(), *VERIFIERS.names()} <= pages
