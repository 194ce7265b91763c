"""The rules a machine can hold: import contracts, sizes, docstrings, and what must not stand in the code."""

import ast
import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted((ROOT / "specviz").rglob("*.py"))
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
LAYERS = [re.split(r"\s*\|\s*", layer) for layer in CONTRACTS[0]["layers"]]
"""names of `specviz`'s folders and single modules, the highest layer first"""
DECODING = {name for layer in LAYERS[LAYERS.index(["engine"]) : LAYERS.index(["theory"])] for name in layer}
"""folders that decode a text: nothing in them waits or draws from a generator of its own"""
MAY_PRINT = {"cli", "__main__.py", "command.py"}


def relative(path):
    return str(path.relative_to(ROOT))


def folder(path):
    """The folder of `specviz` that a module lies in, or its own name."""
    return path.relative_to(ROOT / "specviz").parts[0]


@cache
def parsed(path):
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes(path):
    return tuple(ast.walk(parsed(path)))


def offenders(findings):
    """`module: what`, for the modules in which `findings(path)` finds something."""
    return [f"{relative(path)}: {found}" for path in MODULES for found in findings(path)]


def is_call_of(node, *names):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names


def test_import_contracts_are_kept():
    done = subprocess.run(
        [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout


def test_the_contracts_name_every_folder():
    """The layers are exhaustive by themselves; a new folder must stand in the contracts about the screen too."""
    named = {contract["name"]: contract for contract in CONTRACTS}
    folders = {f"specviz.{path.parent.name}" for path in (ROOT / "specviz").glob("*/__init__.py")}
    lower = set(named["only the page knows the screen"]["source_modules"])
    assert folders - lower == {"specviz.app", "specviz.cli"}
    reads = named["the screen reads traces only"]
    seen = {*reads["source_modules"], *reads["forbidden_modules"]} | {"specviz.cli", "specviz.bench", "specviz.studies"}
    assert folders - seen == {"specviz.corpus", "specviz.datastore"}, "reached only through what is forbidden"


def test_every_module_says_what_it_is():
    assert not offenders(lambda path: [] if ast.get_docstring(parsed(path)) else ["has no docstring"])


def test_no_module_is_longer_than_four_hundred_lines():
    lines = {relative(path): len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    assert {name: count for name, count in lines.items() if count > 400} == {}


LEAST = 60
"""lines that a module has at least; a shorter one joins what it describes"""
SHORT = {
    "specviz/version.py": "read by the build, which must not import anything",
    "specviz/frozen.py": "traces, models, drafters and rounds all make their data by it",
    "specviz/protocol/choice.py": "requests, sweeps, links and recordings all hold their methods by it",
    "specviz/protocol/lanes.py": "`asynchronous` makes lanes and a study shows them, and neither knows the other",
    "specviz/trace/notebook.py": "the events show themselves by it, so it knows none of them",
}
"""modules that are shorter, and why each stands alone"""
NOT_YET: set[str] = set()
"""folders that the floor does not hold yet; none is put here again"""


def is_plug_in(path):
    """A registered method stays one file, however short: it can be read, copied and deleted as one. A command too."""
    registered = [decorator for node in parsed(path).body for decorator in getattr(node, "decorator_list", ())]
    named = any(isinstance(one, ast.Call) and getattr(one.func, "attr", "") == "register" for one in registered)
    return named or "commands" in path.parts


def rooms_of(place):
    """What lies in a folder of the package: its modules and the folders in it."""
    modules = [path for path in place.glob("*.py") if path.name != "__init__.py"]
    return [*modules, *(path.parent for path in place.glob("*/__init__.py"))]


def too_small(short=SHORT):
    """(folder of `specviz`, what is too small in it): modules below the floor, and folders with one file."""
    for path in MODULES:
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if lines < LEAST and not path.name.startswith("__") and relative(path) not in short and not is_plug_in(path):
            yield folder(path), f"{relative(path)} has {lines} lines"
        if path.name == "__init__.py" and len(rooms_of(path.parent)) == 1:
            yield folder(path), f"{relative(path.parent)} holds one file"


def test_no_module_is_a_corridor():
    """Sixty lines at least, and no folder for one file: what is smaller joins the room of what it describes."""
    assert [what for place, what in too_small() if place not in NOT_YET] == []


def test_a_module_that_is_no_longer_short_needs_no_reason():
    """And a folder that the floor does not hold yet is one that there is."""
    assert {folder(path) for path in MODULES} >= NOT_YET
    found = {what.split(" has ")[0] for _, what in too_small(short={})}
    assert set(SHORT) <= found


NAMELESS = {"parts", "utils", "helpers", "common", "misc", "shared"}


def test_no_folder_is_called_after_nothing():
    """A room has a name of the field."""
    folders = [path.parent for path in MODULES if path.name == "__init__.py"]
    assert [
        relative(one) for one in folders if one.name in NAMELESS and folder(one / "__init__.py") not in NOT_YET
    ] == []


def test_no_function_is_longer_than_sixty_lines():
    def long(path):
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
        found = [(one.name, one.end_lineno - one.lineno + 1) for one in nodes(path) if isinstance(one, kinds)]
        return [f"{name} has {length} lines" for name, length in found if length > 60]

    assert not offenders(long)


def test_nothing_runs_text_as_code_or_swallows_every_error():
    def bad(path):
        return [
            f"line {one.lineno}"
            for one in nodes(path)
            if (isinstance(one, ast.ExceptHandler) and one.type is None) or is_call_of(one, "eval", "exec")
        ]

    assert not offenders(bad)


def test_only_the_command_layer_prints():
    def prints(path):
        if MAY_PRINT & set(path.parts):
            return []
        return [f"line {one.lineno}" for one in nodes(path) if is_call_of(one, "print")]

    assert not offenders(prints)


def test_the_engine_never_sleeps():
    engine = [path for path in MODULES if folder(path) in DECODING]
    assert len(engine) > 20
    assert not [relative(path) for path in engine if re.search(r"\bsleep\(", path.read_text(encoding="utf-8"))]


NETWORKS = {
    f"specviz/drafters/{name}.py"
    for name in (
        *("masked_block", "learned/cross_network"),
        *("learned/eagle_network", "learned/flash_network", "learned/head_networks", "learned/module"),
    )
}
"""drafters' networks: their first weights and the noise of their training are drawn; neither while text is decoded"""


def test_the_engine_draws_only_through_its_random_source():
    """A number from a global generator would break both replay and the exhaustive proof."""
    foreign = re.compile(
        r"^\s*(import|from) random\b|\bnp\.random\b|manual_seed|torch\.(rand|multinomial|bernoulli)", re.MULTILINE
    )
    # corpus and scenes are drawn by keys of their own
    engine = [path for path in MODULES if folder(path) in DECODING - {"lm", "corpus", "scenes"}]
    assert len(engine) > 10
    drawing = {relative(path) for path in engine if foreign.search(path.read_text(encoding="utf-8"))}
    assert not drawing - NETWORKS


def test_every_folder_of_modules_is_a_package():
    """Without its `__init__.py` a folder is left out of an installed SpecViz, and import contracts do not see it."""
    assert not [relative(path.parent) for path in MODULES if not (path.parent / "__init__.py").is_file()]


SHARED = {
    "drafters": ("base", "capabilities", "drafting.", "learned."),
    "tree_policies": ("base", "drawing", "acceptance_vector"),
    "stop_policies": ("base", "learned"),
}
"""what the methods of a kind have in common: nothing in there is a method"""


@pytest.mark.parametrize("kind", SHARED)
def test_methods_of_one_kind_share_only_rooms_with_names(kind):
    """So that a method can be read, copied and deleted as one file. A verifier may be a variant of the master rule."""
    modules = sorted((ROOT / "specviz" / kind).glob("*.py"))
    assert len(modules) > 3
    allowed = tuple(f"specviz.{kind}.{room}" for room in SHARED[kind])
    found = [
        f"{relative(path)}:{node.lineno}"
        for path in modules
        for node in nodes(path)
        for source in imported(node)
        if source.startswith(f"specviz.{kind}") and not source.startswith(allowed)
    ]
    assert not found


GROUND = {
    *("base", "capabilities", "drafting.growing"),
    *(
        "learned.module",
        "learned.weights",
        "learned.eight_bits",
        "learned.published",
        "learned.flash_published",
        "learned.token_map",
    ),
}
"""of `specviz.drafters`: what all learned drafters stand on alike, weights that others published, and which tokens a
smaller head answers for"""


def family_of(module):
    """The family files that a drafter of this name is read with: those it imports, and those that they import."""
    start = "specviz.drafters."
    waiting, found = [module], set()
    while waiting:
        path = ROOT / "specviz" / "drafters" / f"{waiting.pop().replace('.', '/')}.py"
        sources = {one.removeprefix(start) for node in nodes(path) for one in imported(node) if one.startswith(start)}
        new = sources - GROUND - found
        found |= new
        waiting += new
    return found


def test_a_learned_drafter_is_its_file_and_at_most_three_of_its_family():
    """As `docs/adding_a_drafter.md` says of each."""
    from specviz.drafters.learned.module import MODULES

    drafters = {kind.__module__.removeprefix("specviz.drafters.") for _, kind in MODULES.items()}
    assert {"eagle", "medusa", "cross_kv"} <= drafters
    assert {name: sorted(family) for name in drafters if len(family := family_of(name)) > 3} == {}


def imported(node):
    """The modules that an import statement names."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) else []


def names_compared(nodes):
    """(line, texts) of every comparison and every `case` in the code: `x == "a"`, `x in ("a", "b")`, `case "a":`."""
    for node in nodes:
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
    assert any("ngram" in texts for _, texts in names_compared(ast.walk(ast.parse(code))))


def test_no_branch_on_the_name_of_a_method():
    """What a method needs, it says itself. The trace knows rules by name, because it must not import them."""
    from specviz.drafters.base import DRAFTERS
    from specviz.stop_policies.base import STOP_POLICIES
    from specviz.tree_policies.base import TREE_POLICIES
    from specviz.verifiers.base import VERIFIERS

    words = {"none", "model", "chain", "confidence", "entropy", "fixed", "levels"}  # also everyday words
    names = {*DRAFTERS.names(), *TREE_POLICIES.names(), *STOP_POLICIES.names(), *VERIFIERS.names()} - words
    assert {"ngram", "greedy"} <= names
    modules = [path for path in MODULES if "trace" not in path.parts]
    found = [f"{relative(p)}:{line}" for p in modules for line, texts in names_compared(nodes(p)) if texts & names]
    assert not found


def test_colours_stand_in_the_style_sheets_and_the_theme_alone():
    allowed = {"specviz/app/look/style.py"}
    hexes = re.compile(r"""["'\s(]#(?:[0-9a-fA-F]{6}|[0-9a-fA-F]{3})\b""")
    files = [*MODULES, *(ROOT / "assets" / "js").rglob("*.js")]
    found = [relative(p) for p in files if relative(p) not in allowed and hexes.search(p.read_text(encoding="utf-8"))]
    assert not found


SAMPLE = str(ROOT / "tests" / "golden" / "trace-1.0-sample.json")
LIGHT = {
    "import specviz": "pydantic numpy networkx",
    "import specviz.trace.codec, specviz.trace.check, specviz.theory.metrics": "",
    f"assert specviz.check(specviz.read({SAMPLE!r})) == []": "",
    f"assert specviz.read({SAMPLE!r})._repr_html_()": "",
    "import specviz.live.catalog; assert specviz.live.catalog.saved()": "",
    "from specviz.cli.main import main": "",
    "assert main(['--help']) == main(['bench', '--help']) == 0": "",
    f"assert main(['check', {SAMPLE!r}]) == main(['replay', {SAMPLE!r}]) == 0": "",
}
"""what is done, one after the other in one process → what else is not loaded by then beside the large libraries"""


PAGE = """import specviz.app.page.build, specviz.app.page.settings, specviz.app.studies.tab
from specviz.studies.study import studies; assert studies()
assert not [name for name in sys.modules if name.startswith('specviz.') and name.endswith('.measure')]
assert not sys.modules.keys() & {'torch', 'transformers'}"""


def test_what_only_reads_starts_without_the_large_libraries_and_the_page_without_torch_and_what_measures():
    lines = ["import sys", "large = {'torch', 'transformers', 'gradio', 'plotly'}"]
    for statement, others in LIGHT.items():
        lines += [statement, f"assert not sys.modules.keys() & (large | set({others!r}.split()))"]
    lines.append(PAGE)
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr.strip()) == (0, "")


def test_every_registered_method_has_its_page():
    from specviz.drafters.base import DRAFTERS
    from specviz.stop_policies.base import STOP_POLICIES
    from specviz.tree_policies.base import TREE_POLICIES
    from specviz.verifiers.base import VERIFIERS

    pages = {path.stem for path in (ROOT / "docs" / "methods").glob("*.md")}
    assert {*DRAFTERS.names(), *TREE_POLICIES.names(), *STOP_POLICIES.names(), *VERIFIERS.names()} <= pages
