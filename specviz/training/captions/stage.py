"""`specviz train captions`: the options of the command as a training of all four models, then their folders.

Place in the flow: called by the command; the work is `train.py`'s and `export.py`'s.
"""

from __future__ import annotations

from specviz.training.captions.export import export
from specviz.training.captions.train import STAGES, CaptionTraining, Report, trained
from specviz.training.options import TrainOptions


def train_captions(options: TrainOptions, report: Report) -> None:
    """Train captioner and drafters, or go on where they stopped, and leave a folder for each in `options.out_dir`.

    How much each learns is fixed; of the options it reads `work_dir`, `out_dir`, `machine` and `note`."""
    training = CaptionTraining(options.work_dir)
    for role in STAGES:
        report({"training": role})
        trained(training, role, report)
    export(training, options.out_dir, options.machine, report, options.note)
