"""What `make gpu` does on a machine with a GPU, the most important first.

Each job is a command of its own, with a limit, so that none can spoil another, and what is done is not done again.
"""

from dataclasses import dataclass
from pathlib import Path

BUDGET_S = 520.0
"""of all jobs together: `make gpu` is to end within nine minutes"""
SHAPES = ("135m", "0.5b", "1.5b", "7b", "14b")
"""the first is SmolLM2's; weights are random"""
SMALL_SHAPES = ("135m",)
RACE_PROMPT = "sums-346-183"
RECORDINGS = Path("assets") / "traces" / "recordings.toml"


@dataclass(frozen=True, slots=True)
class Job:
    """One command, which leaves its files in the output folder."""

    name: str
    tells: str
    """what one knows afterwards"""
    words: tuple[str, ...]
    """behind the name of the Python"""
    limit_s: float


def jobs(out: Path, device: str, small: bool) -> list[Job]:
    """On `device`; `small`: so little of each that a CPU is done in a minute or two, for the tests."""
    return [
        *_right(device, small),
        *_benches(out, device, small),
        *_profiles(out, device, small),
        *_shown(out, device, small),
    ]


def _right(device: str, small: bool) -> list[Job]:
    tests = ("tests/lm/test_bare.py", "tests/lm/test_llama.py", "tests/core", "tests/gpu")
    few = ("--prompts", "1", "--tokens", "8", "--drafters", "none,model") if small else ()
    pytest = ("-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "-m", "gpu", *tests)
    equality = ("-m", "tests.gpu.equality", "--device", device, *few)
    equal = "greedy text in float32 is that of `transformers.generate`, with graphs and without"
    return [
        Job("tests", "the tests that need a CUDA device pass", pytest, 120),
        Job("equality", equal, equality, 90),
    ]


def _benches(out: Path, device: str, small: bool) -> list[Job]:
    found = []
    for graphs, where in (("graphs", device), ("eager", f"eager:{device}")):
        for dtype in ("bfloat16", "float32"):
            name = f"bench-{dtype}-{graphs}"
            size = ("--max-new-tokens", "8", "--max-minutes", "0.2") if small else ("--max-minutes", "1.4")
            others = () if graphs == "graphs" and not small else ("--no-transformers",)
            words = ("--quick", "--device", where, *size, *others)
            tells = f"tokens per second, {dtype}, {'passes replayed' if graphs == 'graphs' else 'kernel by kernel'}"
            command = (*_specviz("bench"), *words, "--dtype", dtype, "--json", str(out / f"{name}.json"))
            found.append(Job(name, tells, command, 400 if small else 100))
    return found[:1] if small else found


def _profiles(out: Path, device: str, small: bool) -> list[Job]:
    def profile(name: str, tells: str, *words: str) -> Job:
        contexts = "128,1024" if "--shape" in words else "128,512"  # the bundled target's holds 1024 with the new rows
        size = ("--rows", "1,2", "--contexts", "16", "--repeats", "3") if small else ("--contexts", contexts)
        where = () if "--device" in words else ("--device", device)
        file = ("--out", str(out / f"{name}.json"))
        return Job(name, tells, (*_specviz("profile"), *words, *where, *size, *file), 60)

    half = ("--dtype", "bfloat16")
    found = [
        profile("profile-target", "how wide a pass of the bundled target is free", *half),
        profile("profile-target-eager", "the same, kernel by kernel", *half, "--device", f"eager:{device}"),
    ]
    shapes = [
        profile(f"profile-{shape}", f"how wide a pass of {shape} random weights is free", "--shape", shape, *half)
        for shape in (SMALL_SHAPES if small else SHAPES)
    ]
    return shapes[:1] if small else [*found, *shapes]


def _shown(out: Path, device: str, small: bool) -> list[Job]:
    length = ("--max-new-tokens", "8") if small else ()
    racers = ("--drafters", "model,ngram", "--device", device, *length)
    record = (*_specviz("record"), "--folder", str(out / "traces"), "--only", "opening")
    race = (*_specviz("race"), "--prompt-id", RACE_PROMPT, *racers, "--out", str(out / "race.json.gz"))
    return [
        Job("opening", "the gallery's opening, recorded here", record, 60),
        Job("race", "one race of the bundled pair, recorded here", race, 60),
    ]


def _specviz(command: str) -> tuple[str, ...]:
    return "-m", "specviz", command
