"""Every error SpecViz raises on purpose, the whole tree at a glance.

SpecVizError
├── OptionError              an option is unknown, of the wrong type or out of range
├── PromptError              a prompt is empty where it must not be, or longer than the context
├── PairingError             this drafter, verifier and sampling do not belong together
├── MemoryFileError          what a drafter learnt earlier does not fit this run
├── DatastoreError           a datastore is missing, damaged, or that of another tokenizer
├── DraftError               a drafter produced a tree that cannot be judged
├── ModelError               weights cannot be loaded or used
│   └── VocabularyMismatch   target and drafter do not share a vocabulary
├── TraceError               a trace cannot be read
│   ├── TraceVersionError    it was written in a version this release does not know
│   ├── ContradictionError   its numbers contradict each other
│   └── SilentError          it tells nothing of speculative decoding
├── RecordError              a run of another engine cannot be recorded
├── TrainingError            training cannot start or go on
├── BenchError               a measurement cannot be made
├── JobError                 work was ended: its time is over, or nobody hears it
├── LessonError              a lesson is not written as it must be, or no run shows what it teaches
└── ProofError               a run under proof does what no lossless method may do

Each message is one sentence or two: what happened, with which input, what to do.
"""


class SpecVizError(Exception):
    """Base of all; its text is fit to be shown to a visitor: one line, whatever the names in it hold."""

    def __str__(self) -> str:
        text = super().__str__()
        if text.isprintable():
            return text
        return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text)


class OptionError(SpecVizError):
    """An option is unknown, of the wrong type or out of range."""


class PromptError(SpecVizError):
    """A prompt is empty where it must not be, or longer than the context."""


class PairingError(SpecVizError):
    """This drafter, verifier and sampling do not belong together."""


class MemoryFileError(SpecVizError):
    """What a drafter learnt earlier does not fit this run."""


class DatastoreError(SpecVizError):
    """A datastore is missing, damaged, or that of another tokenizer."""


class DraftError(SpecVizError):
    """A drafter produced a tree that cannot be judged."""


class ModelError(SpecVizError):
    """Weights cannot be loaded or used."""


class VocabularyMismatch(ModelError):
    """Target and drafter do not share a vocabulary."""


class TraceError(SpecVizError):
    """A trace cannot be read."""


class TraceVersionError(TraceError):
    """A trace was written in a version this release does not know."""


class ContradictionError(TraceError):
    """A record's numbers contradict each other."""


class SilentError(TraceError):
    """A record tells nothing of speculative decoding."""


class RecordError(SpecVizError):
    """A run of another engine cannot be recorded."""


class TrainingError(SpecVizError):
    """Training cannot start or go on."""


class BenchError(SpecVizError):
    """A measurement cannot be made."""


class JobError(SpecVizError):
    """Work that a page's visitor asked for was ended: its time is over, or nobody hears it."""


class ProofError(SpecVizError):
    """A run under proof does what no lossless method may do."""


class LessonError(SpecVizError):
    """A lesson is not written as it must be, or no run shows what it teaches."""


def shown(value: object, quote: bool = True) -> str:
    """A foreign value inside a sentence: printable ASCII, at most 60 characters."""
    try:
        text = ascii(value) if quote or not isinstance(value, str) else ascii(value)[1:-1]
    except (ValueError, RecursionError):  # more digits than Python writes, or lists within lists without end
        return f"a value of type {type(value).__name__} too long to be shown"
    return text if len(text) <= 60 else text[:57] + "…"
