"""Optional extra text: installed packages named in a requirements file, where their licence permits it.

Place in the flow: its documents join the standard library's before the split (`--with-packages`).
"""

import re
from importlib import metadata
from pathlib import Path

from specviz.corpus.standard_library import Document, literal_share
from specviz.errors import TrainingError

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
