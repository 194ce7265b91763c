"""The button that asks every other drafter: what it shows, and what it does with hostile text."""

from dataclasses import replace

from specviz.app.form.request import Limits
from specviz.app.runs.gallery import gallery
from specviz.app.step.actions import StepActions
from specviz.app.step.inquiries import cards
from specviz.protocol.counterfactual import Other
from specviz.trace import codec
from specviz.trace.events import VocabEntry
from tests.app.doubles import SAMPLE, ReplaySource

TRACE = codec.read(SAMPLE)


def actions(tmp_path):
    return StepActions(ReplaySource(TRACE), gallery(tmp_path), Limits())


def test_the_cards_come_one_by_one_and_say_that_they_are_a_counterfactual(tmp_path):
    shown = list(actions(tmp_path).ask_others(codec.dumps(TRACE), 1))
    assert [text.count("<article") for text in shown] == [1, 2, 3, 3]
    assert "Counterfactual at round 2." in shown[0]
    assert "asking the next drafter" in shown[0]
    assert "asking the next drafter" not in shown[-1]
    assert "this run" in shown[-1]


def test_a_round_that_is_not_there_or_no_run_at_all_is_one_sentence(tmp_path):
    (shown,) = actions(tmp_path).ask_others(codec.dumps(TRACE), 99)
    assert "there is no round 99" in shown.lower()
    (empty,) = actions(tmp_path).ask_others("", 0)
    assert 'role="status"' in empty


def test_a_strangers_file_does_not_make_a_public_page_ask_another_target(tmp_path):
    public = StepActions(ReplaySource(TRACE), gallery(tmp_path), Limits(any_model=False))
    drafter = replace(TRACE.started.drafter, model=None)

    def shown(name: str) -> list[str]:
        target = replace(TRACE.started.target, name=name)
        return list(
            public.ask_others(
                codec.dumps(replace(TRACE, started=replace(TRACE.started, target=target, drafter=drafter))), 1
            )
        )

    (refused,) = shown("stranger/model")
    assert "The model &#x27;stranger/model&#x27; is not offered here" in refused
    assert len(shown("target")) == 4


def test_tokens_names_and_reasons_reach_the_page_escaped():
    hostile = VocabEntry("PGI+", "<b>")
    this = TRACE.rounds[3]
    vocab = dict.fromkeys(TRACE.vocab, hostile)
    answers = [
        Other("<i>", this, vocab, recorded=True),
        Other("x", None, {}, "<script>"),
        Other("none", replace(this, nodes=this.nodes[:1]), vocab),
    ]
    html = cards(3, answers, waiting=False)
    assert "<b>" not in html
    assert "<i>" not in html
    assert "<script>" not in html
    assert "&lt;b&gt;" in html
    assert "nothing was drafted" in html


def test_nodes_that_ride_along_are_told_apart_from_what_was_drafted():
    """Lookahead's window in a round without a guess: all of it is in the target's pass, none of it is a draft."""
    this = TRACE.rounds[1]
    window = [node.id for node in this.nodes[1:]]
    riding = replace(this, drafted=replace(this.drafted, riding=window))
    html = cards(1, [Other("lookahead", riding, TRACE.vocab)], waiting=False)
    assert "0 drafted, <strong>0 accepted</strong>" in html
    assert "<li" not in html
    assert "nothing was drafted" in html
    assert "15 nodes ride along in the target&#x27;s pass, not as a guess" in html
