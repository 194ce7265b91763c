"""What counts as untrue in the small world, and that no recorded run says such a thing uncommented."""

import json
import tomllib
from typing import Any

import pytest

from specviz.corpus.plain_english.truth import untrue, worked_out
from specviz.corpus.prompt_set import ENGLISH
from specviz.protocol.links import text_hash
from specviz.resources import ROOT as ASSETS
from specviz.theory.speedup import interval
from specviz.trace import codec

TRACES = ASSETS / "traces"
RECORDINGS: list[dict[str, Any]] = tomllib.loads((TRACES / "recordings.toml").read_text(encoding="utf-8"))["recording"]
PROMPTS = {one["id"]: one for one in json.loads((ASSETS / "prompts" / "prompts.json").read_text("utf-8"))["prompts"]}
OPENINGS: list[str] = tomllib.loads((TRACES / "recordings.toml").read_text(encoding="utf-8"))["openings"]
SMALL_WORLD = {family.name for family in ENGLISH}


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [
        ("Hello! What is the name of the capital of Armenia?", " The capital of Armenia is Yerevan."),
        ("Maputo is the capital of which country?", " Maputo is the capital of Mozambique."),
        ("What does a cow eat?", " A cow eats grass."),
        ("Question: What does a duck say?", " A duck says quack."),
        ('"What do you need to take a photo?" asked Mary.\n"', 'To take a photo you need a camera," said Bruno.'),
        ("What is 346 minus 183?", " Tens: borrow, 14 - 8 = 6. Hundreds: 3 - 1 - 1 = 1. 346 - 183 = 163."),
        ("34 + 28 =", " ? Ones: 4 + 8 = 12, write 2, carry 1. Tens: 3 + 2 + 1 = 6. 34 + 28 = 62."),
        ("One day Leo was in the garden.", " The sea is calm. A cat eats berries with a deer."),
    ],
)
def test_what_is_true_or_not_spoken_of_passes(prompt: str, answer: str) -> None:
    assert untrue(prompt, answer) == []


@pytest.mark.parametrize(
    ("prompt", "answer", "said"),
    [
        (
            "Maputo is the capital of which country?",
            " Minsk is the capital of Belarus.",
            ["country of Maputo is Mozambique, which the answer does not say."],
        ),
        ("Tell me.", " The capital of Armenia is Minsk.", ["capital of Armenia is Yerevan, not Minsk."]),
        (
            "What does a cow eat?",
            " A cow eats mice.",
            ["eats of cow is grass, not mice.", "eats of cow is grass, which the answer does not say."],
        ),
        ("Maya has them.", " 15 - 7 = 18. So there are 18 candles now.", ["15 - 7 is 8, not 18."]),
        ("What is 346 minus 183?", " 163 is not said; 164.", []),
        ("What is 346 minus 183?", " It is 164.", ["346 minus 183 is 163, which the answer does not say."]),
        ("34 + 28 =", " 63.", ["34 + 28 is 62, not 63.", "34 + 28 is 62, which the answer does not say."]),
    ],
)
def test_what_is_wrong_is_said(prompt: str, answer: str, said: list[str]) -> None:
    assert untrue(prompt, answer) == said


def test_a_row_of_terms_is_worked_out_from_the_left() -> None:
    assert worked_out("6 - 3 - 1") == 2
    assert worked_out("6 + 9 + 1") == 16


def faults(one: dict[str, Any]) -> list[str]:
    trace = codec.read(TRACES / f"{one['name']}.json.gz")
    if one.get("chat"):
        known = text_hash(trace.finished.text)
        again = f'read it, write read = "{known}", and a comment where it says something wrong.'
        return [] if one.get("read") == known else [f"nobody has read this text: {again}"]
    prompt = "" if "scene" in one else PROMPTS[one["prompt"]]["text"]
    found = untrue(prompt, trace.finished.text)
    if "scene" not in one and PROMPTS[one["prompt"]]["family"] not in SMALL_WORLD:
        found.append("it is no text of the small world: the models make up what they write here.")
    return found


@pytest.mark.parametrize("one", RECORDINGS, ids=lambda one: one["name"])
def test_a_recorded_run_says_nothing_wrong_or_carries_the_comment(one: dict[str, Any]) -> None:
    assert faults(one) == [] or one.get("comment", "").startswith("the model is wrong here: "), faults(one)


def test_the_comment_is_on_the_card_that_the_page_lists() -> None:
    cards = {card["file"]: card["comment"] for card in json.loads((TRACES / "index.json").read_text("utf-8"))["traces"]}
    assert cards == {f"{one['name']}.json.gz": one.get("comment", "") for one in RECORDINGS}
    assert sum(map(bool, cards.values())) == 8


def test_the_opening_of_the_bundled_pair_is_right_and_worth_it() -> None:
    """Good guesses kept, a wrong one corrected, a bonus in its first three rounds; twice as fast as plain decoding."""
    trace = codec.read(TRACES / "opening.json.gz")
    assert trace.finished.text.endswith(" 346 - 183 = 163.")
    assert untrue(trace.started.prompt_text, trace.finished.text) == []
    first, second, third = trace.rounds[:3]
    assert (first.judged.origin, len(first.judged.path)) == ("bonus", 7)
    assert (second.judged.origin, len(second.judged.path)) == ("bonus", 7)
    rejected = next(node for node in third.nodes if node.fate == "rejected")
    said, corrected = trace.vocab[str(rejected.token)].text, trace.vocab[str(third.judged.token)].text
    assert (said, corrected) == (" 5", " 6")
    assert (len(trace.finished.output_ids), len(trace.rounds)) == (42, 6)
    plain = trace.finished.plain
    assert plain is not None
    assert plain.same_text
    assert plain.decode_s / plain.output_tokens >= 2 * trace.finished.decode_s / 42


def test_the_page_opens_on_a_whole_answer_of_the_real_model_that_shows_every_verdict_and_gains() -> None:
    """An acceptance, a rejection and a bonus in its first three rounds, and an interval of gains above 1."""
    trace = codec.read(TRACES / f"{OPENINGS[0]}.json.gz")
    assert (trace.started.target.name, trace.finished.reason) == ("smollm2", "eos")
    assert trace.started.chat_message is not None
    assert len(trace.finished.output_ids) <= 64
    early = trace.rounds[:3]
    fates = {node.fate for this in early for node in this.nodes[1:]}
    assert {"accepted", "rejected"} <= fates
    assert "bonus" in {this.judged.origin for this in early}
    assert trace.finished.plain is not None
    assert trace.finished.plain.same_text
    gained = interval(trace)
    assert gained is not None
    assert gained[0] > 1.2
