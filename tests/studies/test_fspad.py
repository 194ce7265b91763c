"""The ablation trains its cells on the same text, EAGLE-1 first, and its table says what was measured."""

import shutil
from dataclasses import replace

from specviz.studies.fspad.measure import ALIGNMENT, SAMPLING, run_study, small
from specviz.studies.fspad.result import STUDY, markdown
from specviz.training.modules.texts import TextOptions


def test_every_cell_learns_from_the_same_text_and_stands_in_the_table(module_target, module_work, tmp_path):
    work = shutil.copytree(module_work, tmp_path / "work")
    texts = TextOptions(length=24, rows=4, block_rows=2, write_every=2, most_written=1)
    usual, held_out = small(0, 96 * 4, str(module_target), work), {"held_out_rows": 2, "held_out_length": 12}
    training = replace(usual, texts=texts, dtype="float32", **held_out)
    rows = []
    study = run_study(training, "a command", rows.append)
    assert (study.steps, study.tokens) == (4, 96 * 4)
    seen = [(cell.sampling, cell.alignment) for cell in study.cells]
    assert seen == [(1, 1.0), *((m, beta) for m in SAMPLING for beta in ALIGNMENT)]
    assert study.cells[0].beside == 0.0
    assert len({tuple(cell.after["acceptance"]) for cell in study.cells}) > 5
    STUDY.codec.write(study, tmp_path / "study.json")
    assert STUDY.codec.read(tmp_path / "study.json") == study
    lines = markdown(study).splitlines()
    assert lines[4].startswith("| 1 (EAGLE-1) | 1 | 0 |")
    assert f"{study.cells[3].after['acceptance'][0]:.3f}" in lines[7]
    assert not list(work.rglob("checkpoint.pt"))
