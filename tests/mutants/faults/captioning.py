"""Faults of how the captioner is taught."""

from __future__ import annotations

from tests.mutants.faults.fault import Fault

LESSONS = "tests/training/test_caption_lessons.py"
TRAINING = "tests/training/test_captions.py"

FAULTS: tuple[Fault, ...] = (
    Fault(
        "lessons: a colour without a name is asked for",
        "specviz/training/captions/lessons.py",
        'cells[cell, 0 if nameless[placed_shape] == "colour" else 1] = NOT_ASKED',
        'cells[cell, 1 if nameless[placed_shape] == "colour" else 0] = NOT_ASKED',
        (LESSONS,),
    ),
    Fault(
        "captioner: captions change the eyes that were taught",
        "specviz/training/captions/train.py",
        "model.eyes.requires_grad_(False)",
        "model.eyes.requires_grad_(True)",
        (f"{TRAINING}::test_captions_leave_the_captioners_eyes_as_they_were_taught",),
    ),
    Fault(
        "captioner: the word after the nameless one need not be said",
        "specviz/training/captions/lessons.py",
        "batch.labels[row, hidden - 1] = IGNORED",
        "batch.labels[row, hidden] = IGNORED",
        (
            f"{TRAINING}::test_of_the_pictures_words_the_captioner_reads_some_as_unknown_and_what_has_no_name_it_"
            "need_not_say",
        ),
    ),
)
