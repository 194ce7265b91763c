"""The study of lanes: its file, and what the chart, the tables and the sentence say of it."""

from dataclasses import replace
from pathlib import Path

import pytest

from specviz.app.studies.chart import draw
from specviz.app.studies.tab import tables_html
from specviz.errors import OptionError, TraceError
from specviz.protocol.lanes import DRAFT, TARGET, Span
from specviz.studies.lanes import foreseen
from specviz.studies.lanes.foreseen import FanOut
from specviz.studies.lanes.result import (
    FORMAT,
    STUDY,
    VERSION,
    Comparison,
    LanesCase,
    LanesFile,
    LanesRow,
    LanesRun,
    MethodRow,
    choices,
    markdown,
    method_rows,
    problems,
    view,
)
from specviz.trace import codec

CODEC = STUDY.codec
STARTED = codec.read(Path(__file__).parents[2] / "golden" / "trace-1.0-sample.json").started
PLAIN = LanesRun("plain", "measured", 2, 2.0, (Span(TARGET, "verify", 0, 1, 0, 1), Span(TARGET, "verify", 1, 2, 0, 1)))
IN_TURN = LanesRun(
    "sd", "measured", 2, 1.75, (Span(DRAFT, "draft", 0.0, 0.5, 3), Span(TARGET, "verify", 0.5, 1.75, 3, 2, 1))
)


def sample(*runs: LanesRun) -> LanesFile:
    return LanesFile(
        FORMAT, VERSION, "once", " upon a", STARTED.machine, STARTED.target, STARTED.target, 3, 8, 7, 0.0, 0,
        (LanesCase(0.0, runs or (PLAIN, IN_TURN)),),
    )  # fmt: skip


def test_what_was_drafted_accepted_and_thrown_away() -> None:
    assert (IN_TURN.drafted(), IN_TURN.accepted(), IN_TURN.discarded()) == (3, 1, 2)
    assert (PLAIN.drafted(), PLAIN.discarded()) == (0, 0)
    assert (IN_TURN.busy(DRAFT), IN_TURN.busy(TARGET)) == (0.5 / 1.75, 1.25 / 1.75)
    assert IN_TURN.lanes() == [DRAFT, TARGET]


@pytest.mark.parametrize(
    ("spans", "said"),
    [
        ((Span(TARGET, "verify", 0, 1, 0, 1), Span(TARGET, "verify", 0.5, 2, 0, 1)), "busy with two things at once"),
        ((Span(TARGET, "verify", 0, 3, 0, 2),), "has impossible times or counts"),
        ((Span(TARGET, "verify", 1, 0.5, 0, 2),), "has impossible times or counts"),
        ((Span(TARGET, "verify", 0, 1, 1, 1, 2),), "has impossible times or counts"),
        ((Span(TARGET, "sing", 0, 1, 0, 2),), "does something unknown"),
        ((Span(TARGET, "verify", 0, 1, 0, 1),), "has more text than its verifications gave"),
    ],
)
def test_what_cannot_be_so_is_neither_written_nor_read(tmp_path: Path, spans: tuple[Span, ...], said: str) -> None:
    wrong = sample(replace(PLAIN, spans=spans))
    assert any(said in problem for problem in problems(wrong))
    with pytest.raises(TraceError, match=said):
        CODEC.write(wrong, tmp_path / "lanes.json")
    assert not list(tmp_path.iterdir())


def test_plain_decoding_is_the_first_of_a_case_and_there_is_one() -> None:
    assert [*problems(sample(IN_TURN))] == ["plain decoding is not the first of a case"]
    assert "there is no case" in problems(replace(sample(), cases=()))


AS_IT_IS = "the drafter as it is"
DRAFTED = (Span(DRAFT, "draft", 0, 0.75, 3), Span(DRAFT, "roll back", 0.75, 0.75, 2))
BESIDE = LanesRun("amusd", "measured", 2, 1.0, (*DRAFTED, Span(TARGET, "verify", 0.5, 1, 1, 2, 1)))
VERIFIED = (Span("target 1", "verify", 0.25, 0.5, 2, 1, 1), Span("target 2", "verify", 0.25, 0.5, 1, 1, 1))
MANY = LanesRun("dsi", "simulated", 2, 0.5, (Span(DRAFT, "draft", 0, 0.25, 2), *VERIFIED))


def several() -> LanesFile:
    fast = LanesCase(0.0, (PLAIN, IN_TURN, MANY, BESIDE))
    return replace(sample(), cases=(fast, LanesCase(0.006, (PLAIN, replace(IN_TURN, seconds=1.8), BESIDE))))


def by_name(case: LanesCase) -> dict[str, MethodRow]:
    return {row.name: row for row in method_rows(case)}


def test_every_method_has_its_lanes_in_one_order_and_one_that_drafts_nothing_has_no_drafter() -> None:
    chart = view(several(), AS_IT_IS).chart
    assert [(lane.method, lane.lane) for lane in chart.lanes] == [
        ("plain", "target"),
        ("sd", "drafter"),
        ("sd", "target"),
        ("amusd", "drafter"),
        ("amusd", "target"),
        ("dsi", "drafter"),
        ("dsi", "target 1"),
        ("dsi", "target 2"),
    ]
    assert chart.seconds == 2.0


def test_the_table_compares_with_plain_decoding_and_says_what_is_simulated() -> None:
    rows = by_name(several().cases[0])
    assert (rows["draft, then verify"].ratio, rows["AMUSD"].ratio, rows["DSI"].ratio) == (2.0 / 1.75, 2.0, 4.0)
    assert (rows["AMUSD"].drafted, rows["AMUSD"].discarded, rows["AMUSD"].drafter_busy) == (3, 2, 0.75)
    assert (rows["DSI"].source, rows["DSI"].target_busy) == ("simulated", 0.5)
    table = tables_html(view(several(), AS_IT_IS))
    assert table.count("simulated") == 1
    assert table.count("measured") == 3


def test_the_sentence_says_whether_it_pays_by_what_was_measured_alone() -> None:
    assert view(several(), AS_IT_IS).sentence.startswith(
        "Drafting while verifying pays here: AMUSD is 1.75× as fast as drafting in turn. It hides 29% of the time at"
    )
    slower = replace(BESIDE, seconds=3.5)
    lost = replace(several(), cases=(LanesCase(0.0, (PLAIN, IN_TURN, slower, MANY)),))
    assert "does not pay here: AMUSD, the best of them, is 0.50× as fast" in view(lost, AS_IT_IS).sentence


def test_the_chart_shows_what_was_rejected_thrown_away_and_simulated() -> None:
    found = {trace.name: trace for trace in draw(view(several(), AS_IT_IS).chart).data}
    assert list(found) == ["drafting", "verifying, all accepted", "verifying, some rejected", "drafts thrown away"]
    assert list(found["drafts thrown away"].x) == [750.0]
    assert list(found["verifying, some rejected"].y) == ["draft, then verify · target", "DSI (simulated) · target 1"]
    assert list(found["drafting"].base) == [0.0, 0.0, 0.0]
    assert "verifies 3, accepts 1, gives 2" in found["verifying, some rejected"].hovertext[0]


def test_every_drafter_can_be_chosen_and_no_other() -> None:
    (choice,) = choices(several())
    assert [value for _, value in choice.options] == [AS_IT_IS, "a drafter that sleeps 6 ms after each pass"]
    assert view(several(), "a drafter that sleeps 6 ms after each pass").chart.seconds == 2.0
    with pytest.raises(
        OptionError, match="'a guess' is no drafter of this study; choose the drafter as it is, a drafter"
    ):
        view(several(), "a guess")


def test_the_documentation_compares_all_methods_with_each_drafter() -> None:
    plain = LanesRow("plain", 100.0, 1.0, 1.0, 1.0, 0.0, 0.98, 0.0, 4, 4)
    fast = LanesRow("amusd", 125.4, 1.25, 1.1, 1.4, 0.5, 0.75, 1.5, 3, 4)
    known = replace(
        several(), comparisons=(Comparison(0.0, (plain, fast)), Comparison(0.006, (plain,))), origin="Here."
    )
    lines = markdown(known).splitlines()
    assert lines[0].startswith("With the drafter as it is, temperature 0, γ = 3, AMUSD up to 8 tokens ahead and 7 in a")
    assert "| amusd | 1.25 | 1.10 to 1.40 | 125 | 50% | 75% | 1.50 | 3/4 |" in lines
    assert lines[7].startswith("With a drafter that sleeps 6 ms after each pass, ")
    assert lines[-1] == "Here."
    assert not any("on one prompt" in line for line in lines)


def test_a_file_that_holds_no_comparison_tells_what_each_method_did_on_its_prompt() -> None:
    lines = markdown(several()).splitlines()
    assert lines[0].startswith("With the drafter as it is, once, on one prompt. ")
    assert lines[2].startswith("| method |")
    assert sum(line.startswith("| plain decoding | measured | 1.00 |") for line in lines) == len(several().cases)
    assert lines[-1].startswith("Recorded on ")


FAN_OUTS = (FanOut(0, 0, 0, 20, 1.4), FanOut(1, 5, 12, 20, 1.6), FanOut(4, 20, 17, 20, 1.1))


def test_fan_outs_are_a_choice_of_their_own_where_the_file_has_them():
    case = replace(sample().cases[0], fan_outs=FAN_OUTS)
    file = replace(sample(), cases=(case,))
    seen = [value for _, value in choices(file)[0].options]
    assert seen == ["the drafter as it is", "the drafter as it is: verdicts drafted for"]
    shown = view(file, "the drafter as it is: verdicts drafted for")
    assert shown.sentence == (
        "With the 4 likeliest tokens behind each count, 20 branches, 85% of the verdicts have their draft ready. "
        "Fastest by these pass times are 5 branches: 1.60 × plain decoding, where nothing drafted ahead gives 1.40."
    )
    assert shown.tables[0].rows[1] == ("1", "5", "12/20", "60%", "1.60")
    impossible = replace(case, fan_outs=(replace(FAN_OUTS[1], hits=21),))
    assert "21 of 20 verdicts were drafted for at fan-out 1" in problems(replace(file, cases=(impossible,)))


def test_where_drafting_ahead_does_not_pay_the_sentence_says_so():
    slow = (FAN_OUTS[0], replace(FAN_OUTS[1], ratio=1.2), FAN_OUTS[2])
    assert "It does not pay by these pass times: nothing drafted ahead gives 1.40" in foreseen.sentence(slow)


def test_fan_outs_that_were_measured_say_so_and_how_much_was_ready():
    measured = tuple(replace(fan, source="measured", ready=0.05 * fan.hits) for fan in FAN_OUTS)
    assert foreseen.sentence(measured) == (
        "With the 4 likeliest tokens behind each count, 20 branches, 85% of the verdicts have a draft begun when they "
        "come. Fastest on two processes are 5 branches: 1.60 × plain decoding, where nothing drafted ahead gives 1.40."
    )
    table = foreseen.table(measured)
    assert table.heads[-2:] == ("candidates ready", "× plain")
    assert table.rows[1] == ("1", "5", "12/20", "60%", "60%", "1.60")
    assert foreseen.chart(measured).panels[1].y.title == "× plain"
    slow = (measured[0], replace(measured[1], ratio=1.2), replace(measured[2], ratio=1.1))
    assert foreseen.sentence(slow).endswith(
        "It does not pay on two processes: nothing drafted ahead gives 1.40 × plain decoding, and 1.20 with 5 branches."
    )


def test_the_fan_out_of_ssd_is_said_where_it_was_measured():
    known = replace(several(), comparisons=(Comparison(0.0, ()),), fan_out=2)
    assert "7 in a pass, SSD drafting for 2 verdicts behind each count of accepted tokens:" in markdown(known)
