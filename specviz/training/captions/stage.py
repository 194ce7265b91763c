"""`specviz train captions`: the options of the command as a training of all four models, then their folders.

Place in the flow: called by the command; the work is `train.py`'s and `export.py`'s.
"""

from __future__ import annotations

from specviz.errors import TrainingError
from specviz.training.captions.export import export
from specviz.training.captions.train import BEGINS_WITH, ROLES, STAGES, CaptionTraining, Report, trained
from specviz.training.options import TrainOptions


def train_captions(options: TrainOptions, report: Report) -> None:
    """Train captioner and drafters, or those that `names` names, or go on where they stopped, and leave a folder for
    each in `options.out_dir`.

    How much each learns is fixed; of the options it reads `names`, `work_dir`, `out_dir`, `command`, `machine`
    and `note`. Raises TrainingError for a name that is none of theirs."""
    roles = options.names or ROLES
    for name in roles:
        if name not in ROLES:
            raise TrainingError(f"there is no caption model '{name}'; there are {', '.join(ROLES)}.")
    training = CaptionTraining(options.work_dir)
    needed = {*roles, *(BEGINS_WITH[role] for role in roles if role in BEGINS_WITH)}
    for stage in (stage for stage in STAGES if stage in needed):
        report({"training": stage})
        trained(training, stage, report)
    export(training, roles, options, report)
