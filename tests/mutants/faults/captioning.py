"""Faults of how the captioner is taught."""

from tests.mutants.faults.fault import Edits, edit

LESSONS = "tests/training/test_caption_lessons.py"
TRAINING = "tests/training/test_captions.py"

FAULTS: Edits = {
    ("specviz/training/captions/lessons.py", LESSONS): {
        "lessons: a colour without a name is asked for": edit(
            'cells[cell, 0 if nameless[placed_shape] == "colour" else 1] = NOT_ASKED',
            'cells[cell, 1 if nameless[placed_shape] == "colour" else 0] = NOT_ASKED',
        )
    },
    (
        "specviz/training/captions/train.py",
        f"{TRAINING}::test_captions_leave_the_captioners_eyes_as_they_were_taught",
    ): {
        "captioner: captions change the eyes that were taught": edit(
            "model.eyes.requires_grad_(False)", "model.eyes.requires_grad_(True)"
        )
    },
    (
        "specviz/training/captions/lessons.py",
        f"{TRAINING}::test_of_the_pictures_words_the_captioner_reads_some_as_unknown_and_what_has_no_name_it_"
        "need_not_say",
    ): {
        "captioner: the word after the nameless one need not be said": edit(
            "batch.labels[row, hidden - 1] = IGNORED", "batch.labels[row, hidden] = IGNORED"
        )
    },
}
