"""`specviz clinic` as somebody types it, on a tiny checkpoint whose answer is known."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from specviz.doctor.answers import Written
from specviz.doctor.consultation import Consults, Question
from specviz.live.source import LiveSource
from tests.cli.conftest import Call
from tests.clinic.tiny_pair import write_pair

PROMPT = [7, 21, 4, 33, 2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With the target's greedy answer of six tokens, and one whose third token is its least probable."""
    from transformers import AutoModelForCausalLM

    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("clinic")
    target, _ = write_pair(folder)
    model = AutoModelForCausalLM.from_pretrained(target)
    text, wrong = list(PROMPT), list[int]()
    for place in range(6):
        row = model(torch.tensor([text])).logits[0, -1]
        text.append(int(row.argmax()))
        wrong.append(int(row.argmin()) if place == 2 else text[-1])
    for name, ids in (("plain", text[len(PROMPT) :]), ("wrong", wrong), ("prompt", PROMPT)):
        (folder / f"{name}.json").write_text(json.dumps(ids))
    return folder


def clinic(specviz: Call, folder: Path, *answers: str, **flags: Any) -> Any:
    extra = [word for name, value in flags.items() for word in (f"--{name}", value)]
    paths = [folder / f"{answer}.json" for answer in answers]
    return specviz("clinic", "--target", folder / "target", "--prompt-ids", folder / "prompt.json", *paths, *extra)


def test_a_token_that_no_rounding_explains_is_a_bug(specviz: Call, folder: Path) -> None:
    result = clinic(specviz, folder, "plain", "wrong")
    assert result.code == 1
    text = " ".join(result.out.split())
    assert "plain.json 6 tokens, wrong.json 6 tokens, 5 of prompt They part at token 2" in text
    assert "Verdict: bug, confidence high Token 2 of wrong.json lies" in text


def test_equal_answers_are_the_same(specviz: Call, folder: Path) -> None:
    result = clinic(specviz, folder, "plain", "plain", format="float32")
    assert (result.code, "Verdict: same" in result.out) == (0, True)


def test_json_names_the_parting_and_the_guilty(specviz: Call, folder: Path) -> None:
    result = specviz(
        "clinic", "--json", "--target", folder / "target", "--prompt-ids", folder / "prompt.json",
        folder / "plain.json", folder / "wrong.json",
    )  # fmt: skip
    data = json.loads(result.out)
    assert (data["word"], data["parts_at"], data["guilty"], data["broken_rule"]) == ("bug", 2, "wrong.json", None)
    assert data["parting"]["plain.json"]["loss"] == 0.0


def test_a_page_asks_the_live_source_the_same_question(folder: Path) -> None:
    answers = tuple(
        Written("", tuple(json.loads((folder / f"{name}.json").read_text()))) for name in ("plain", "wrong")
    )
    question = Question(str(folder / "target"), "bfloat16", answers, prompt_ids=tuple(PROMPT))
    source = LiveSource(measure=False)
    assert isinstance(source, Consults)
    (diagnosis,) = source.consult(question)
    assert (diagnosis.verdict.word, diagnosis.verdict.guilty, diagnosis.anew) == ("bug", "B", ())
    assert [cost.is_choice for cost in diagnosis.parting.costs] == [True, False]
    assert list(source.consult(question, lambda: True)) == []


def test_an_empty_answer_is_one_sentence(specviz: Call, folder: Path) -> None:
    (folder / "empty.txt").write_text("\n")
    result = specviz(
        "clinic", "--target", folder / "target", "--prompt", "w1", folder / "plain.json", folder / "empty.txt"
    )
    assert (result.code, "answer empty.txt is empty, so there is nothing to compare" in result.err) == (2, True)


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--format", "int4"], "the format is 'int4', but must be one of float32, bfloat16, float16."),
        ([], "neither answer names its prompt; give it with --prompt, --prompt-file or --prompt-ids."),
        (["--prompt", "w1"], "token 99 of far.json is outside the vocabulary of target (0 to 59)."),
    ],
)
def test_bad_input_is_one_sentence(specviz: Call, folder: Path, flags: list[str], sentence: str) -> None:
    (folder / "far.json").write_text("[1, 99]")
    result = specviz("clinic", "--target", folder / "target", folder / "plain.json", folder / "far.json", *flags)
    assert (result.code, sentence in result.err) == (2, True)
