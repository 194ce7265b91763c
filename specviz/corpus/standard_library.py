"""Collects the training text: the running interpreter's standard library, split by file, and where asked for the
installed packages of a requirements file whose licence permits it.

Place in the flow: first step of `specviz train`; its documents feed the tokenizer and the packed windows. Packages join
the standard library's documents before the split (`--with-packages`).
"""

import hashlib
import importlib
import platform
import re
import sysconfig
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from specviz.errors import TrainingError

SKIPPED_PARTS = frozenset(
    {"site-packages", "dist-packages", "test", "tests", "idle_test", "__pycache__", "pydoc_data", "encodings"}
)
SKIPPED_PREFIXES = ("_sysconfigdata", "config-")
HELD_OUT_SHARE = {"code": 0.03, "prose": 0.12, "tests": 0.15, "package": 0.03}
TESTS_SHARE_OF_BYTES = 0.10
SMALLEST_BYTES, LARGEST_BYTES = 300, 260_000
MOST_LITERAL = 0.15
LITERAL = re.compile(r"\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\[0-7]{2,3}|\b0[xX][0-9a-fA-F]+\b|\b\d[\d_.]*\b")


@dataclass(frozen=True)
class Document:
    """One source text; `path` is relative to the library, `kind` is code, prose, tests or package."""

    path: str
    kind: str
    text: str

    @property
    def n_bytes(self) -> int:
        """Length of the text in UTF-8 bytes."""
        return len(self.text.encode("utf-8"))


@dataclass(frozen=True)
class Corpus:
    """Training and held-out documents; no file is in both."""

    train: tuple[Document, ...]
    held_out: tuple[Document, ...]
    seed: int
    notes: tuple[str, ...] = ()


def literal_share(text: str) -> float:
    """Fraction of the characters that belong to numbers and escapes; data tables stand out by it."""
    return sum(len(match.group()) for match in LITERAL.finditer(text)) / max(1, len(text))


def position_of(path: str, seed: int) -> float:
    """A file's fixed place in [0, 1), from its relative path and the seed alone."""
    digest = hashlib.sha256(f"{seed}:{path}".encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


def is_held_out(document: Document, seed: int) -> bool:
    """Whether a file is held out; it depends on no other file, so additions never move a file across."""
    return position_of(document.path, seed) < HELD_OUT_SHARE[document.kind]


def standard_library() -> Path:
    """Folder of the running interpreter's standard library."""
    folder = Path(sysconfig.get_path("stdlib"))
    if not folder.is_dir():
        raise TrainingError(f"No standard library sources at {folder.name}: run with an interpreter that ships them.")
    return folder


def read_source(path: Path) -> str | None:
    """Text of a source file, or None where it is not usable (encoding, size, data table)."""
    if not SMALLEST_BYTES <= path.stat().st_size <= LARGEST_BYTES:
        return None
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None
    return None if literal_share(text) > MOST_LITERAL else text


def code_documents(root: Path, order: Callable[[Path], float] | None = None) -> Iterator[Document]:
    """Every usable module below `root`, in path order, or in that of `order` of the path."""
    for path in sorted(root.rglob("*.py"), key=order):
        relative = path.relative_to(root)
        if SKIPPED_PARTS.intersection(relative.parts) or relative.parts[0].startswith(SKIPPED_PREFIXES):
            continue
        text = read_source(path)
        if text is not None:
            yield Document(relative.as_posix(), "code", text)


def test_documents(root: Path, most_bytes: int, seed: int) -> Iterator[Document]:
    """A fixed sample of the library's own `test/test_*.py`, at most `most_bytes` in total."""
    used = 0
    for path in sorted((root / "test").glob("test_*.py"), key=lambda p: position_of(p.name, seed + 1)):
        text = read_source(path)
        if text is None or "unittest" not in text or used + len(text) > most_bytes:
            continue
        used += len(text)
        yield Document(path.relative_to(root).as_posix(), "tests", text)


def prose_documents() -> Iterator[Document]:
    """The language reference texts behind `help()`; each topic counts as one file."""
    try:
        topics: dict[str, str] = importlib.import_module("pydoc_data.topics").topics
    except ModuleNotFoundError:
        return
    for name in sorted(topics):
        if len(topics[name]) >= SMALLEST_BYTES:
            yield Document(f"pydoc_data/topics.py#{name}", "prose", topics[name].strip() + "\n")


def split(documents: Iterable[Document], seed: int, notes: tuple[str, ...] = ()) -> Corpus:
    """Splits documents by file; raises if one side would be empty."""
    train: list[Document] = []
    held_out: list[Document] = []
    for document in documents:
        (held_out if is_held_out(document, seed) else train).append(document)
    if not train or not held_out:
        raise TrainingError(
            f"The split with seed {seed} leaves {len(train)} training and {len(held_out)} held-out files: "
            "choose another --seed or add sources."
        )
    return Corpus(tuple(train), tuple(held_out), seed, notes)


def collect(seed: int, extra: Iterable[Document] = (), notes: tuple[str, ...] = ()) -> Corpus:
    """The whole corpus: modules, a tenth of unit tests, reference prose and optional packages."""
    root = standard_library()
    documents = [*code_documents(root), *prose_documents(), *extra]
    total = sum(document.n_bytes for document in documents)
    tests = test_documents(root, int(total * TESTS_SHARE_OF_BYTES / (1 - TESTS_SHARE_OF_BYTES)), seed)
    return split([*documents, *tests], seed, notes)


def sample(seed: int, most_bytes: int, held_out: bool = False) -> list[Document]:
    """Modules of the training side or the held-out one, the same few for a seed, `most_bytes` in all; reads no more
    than it needs."""
    root, used = standard_library(), 0
    documents: list[Document] = []
    for document in code_documents(root, order=lambda path: position_of(path.relative_to(root).as_posix(), seed + 2)):
        if is_held_out(document, seed) != held_out:
            continue
        used += document.n_bytes
        if used > most_bytes:
            break
        documents.append(document)
    return documents


def repeated_line_share(corpus: Corpus) -> float:
    """Fraction of the held-out lines of 40 characters or more that also occur in a training file."""
    known = {line.strip() for document in corpus.train for line in document.text.splitlines()}
    lines = [line.strip() for document in corpus.held_out for line in document.text.splitlines()]
    long_lines = [line for line in lines if len(line) >= 40]
    return sum(line in known for line in long_lines) / max(1, len(long_lines))


def manifest(corpus: Corpus) -> dict[str, Any]:
    """The split as plain data: path, kind, bytes and sha256 of every file, for the witness beside the model."""

    def rows(documents: Iterable[Document]) -> list[dict[str, Any]]:
        return [
            {
                "path": document.path,
                "kind": document.kind,
                "bytes": document.n_bytes,
                "sha256": hashlib.sha256(document.text.encode("utf-8")).hexdigest(),
            }
            for document in documents
        ]

    return {
        "source": f"Python {platform.python_version()} standard library",
        "licence": "PSF-2.0",
        "seed": corpus.seed,
        "rule": "held out when sha256(seed:path) as a fraction is below the share of its kind",
        "held_out_share": HELD_OUT_SHARE,
        "notes": list(corpus.notes),
        "repeated_line_share": round(repeated_line_share(corpus), 4),
        "train": rows(corpus.train),
        "held_out": rows(corpus.held_out),
    }


PERMISSIVE = ("mit", "bsd", "apache", "isc", "psf", "python software foundation", "zlib", "unlicense")
REFUSED_WORDS = ("gpl", "mpl", "proprietary", "commercial", "nvidia")
NAME = re.compile(r"^\s*([A-Za-z0-9][A-Za-z0-9._-]*)")


def requirement_names(requirements: Path) -> list[str]:
    """Package names of a requirements file, without versions, options and comments."""
    if not requirements.is_file():
        raise TrainingError(f"--with-packages needs {requirements.name} in the current folder, and there is none.")
    lines = requirements.read_text(encoding="utf-8").splitlines()
    return [match[1] for line in lines if not line.lstrip().startswith(("#", "-")) and (match := NAME.match(line))]


def licence_of(distribution: metadata.Distribution) -> str:
    """The licence a package declares: expression, first short line of the licence field, or classifiers."""
    fields = distribution.metadata
    declared = (fields.get_all("License-Expression") or fields.get_all("License") or [""])[0].split("\n")[0][:60]
    classifiers = [c.rsplit("::", 1)[1].strip() for c in fields.get_all("Classifier") or [] if c.startswith("License")]
    return declared or ", ".join(classifiers) or "undeclared"


def is_permissive(licence: str) -> bool:
    """Whether the declared licence is on the allow list and names nothing that must be refused."""
    lowered = licence.lower()
    return any(word in lowered for word in PERMISSIVE) and not any(word in lowered for word in REFUSED_WORDS)


def package_documents(requirements: Path) -> tuple[list[Document], tuple[str, ...]]:
    """Python sources of the permitted packages, and one note per package: taken or refused, and why."""
    documents: list[Document] = []
    notes: list[str] = []
    for name in requirement_names(requirements):
        try:
            distribution = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            notes.append(f"{name}: refused, not installed")
            continue
        licence = licence_of(distribution)
        label = f"{name} {distribution.version} ({licence})"
        if not is_permissive(licence):
            notes.append(f"{label}: refused, licence not on the allow list")
            continue
        sources = _sources(distribution)
        documents += sources
        notes.append(f"{label}: {len(sources)} files taken")
    return documents, tuple(notes)


def _sources(distribution: metadata.Distribution) -> list[Document]:
    """A distribution's modules, without tests and data tables."""
    documents = []
    for file in distribution.files or []:
        if file.suffix != ".py" or {"test", "tests"}.intersection(file.parts):
            continue
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        if 300 <= len(text) <= 260_000 and literal_share(text) <= 0.15:
            documents.append(Document(f"site-packages/{file.as_posix()}", "package", text))
    return documents
