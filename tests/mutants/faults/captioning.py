"""Faults of how the captioner is taught."""

from __future__ import annotations

from tests.mutants.faults.fault import Fault

LESSONS = "tests/training/test_caption_lessons.py"
TRAINING = "tests/training/test_captions.py"

FAULTS: tuple[Fault, ...] = (
    Fault(
        "lessons: a colour without a name is asked for",
        "specviz/training/captions/lessons.py",
        "answers[_cell(one), 0] = NOT_ASKED",
        "answers[_cell(one), 1] = NOT_ASKED",
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
        "captioner: a word that it reads as unknown need not be said",
        "specviz/training/captions/batches.py",
        "return replace(whole, ids=",
        "return replace(whole, labels=torch.where(drawn, IGNORED, whole.labels), ids=",
        (
            f"{TRAINING}::test_the_captioner_is_shown_some_of_the_pictures_words_as_unknown_and_has_to_say_them_all_the_same",
        ),
    ),
)
