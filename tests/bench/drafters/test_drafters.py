"""`specviz bench drafters` on a source whose every time is chosen by hand: who runs, with which memory."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from specviz.bench.core.contest import ContestRun, Measured
from specviz.bench.core.report import check_section
from specviz.bench.core.run import SourceContestant
from specviz.bench.drafters.plan import Entrant, chosen, entrants, first_runs, lineup, warm_up_prompts, with_models
from specviz.bench.drafters.table import DrafterRow, part
from specviz.cli.commands.bench import drafters as bench_drafters
from specviz.cli.main import main
from specviz.errors import DraftError, SpecVizError
from specviz.protocol.choice import Choice
from specviz.protocol.runs import MethodDescription, PromptCard, Resume, RunRequest
from specviz.theory.rows import counts_of
from specviz.trace import events, header
from specviz.trace.events import Step
from tests.fake_source import FakeSource, make_round

CARDS = tuple(PromptCard(f"{family}{i}", family, "", "", "x") for family in ("code", "prose") for i in range(3))


def method(name: str, remembers: bool = False, lossless: bool = True) -> MethodDescription:
    return MethodDescription(name, name, name, lossless, (), remembers=remembers)


DRAFTERS = (method("copy"), method("learn", remembers=True), method("needy"), method("none"), method("odd"))


@dataclass
class Drafters(FakeSource):
    """Rounds of 1 s: `copy` commits 2 tokens in each, `learn` 1 cold and 4 warm; `needy` and `odd` cannot run."""

    accepted: int = 3
    prompts: tuple[PromptCard, ...] = CARDS
    drafters: tuple[MethodDescription, ...] = DRAFTERS
    broken: set[str] = field(default_factory=set)
    copies: int = 1
    """candidates that `copy` drafts, all of them accepted"""
    output: tuple[int, ...] = tuple(range(8))
    created: str = "2026-01-01T00:00:00Z"
    other_text: set[str] = field(default_factory=set)
    """drafters that write another text than plain decoding"""

    def explain(self, request: RunRequest) -> str | None:
        return "there is no datastore;\nbuild one." if request.drafter.name == "needy" else None

    def run(
        self, request: RunRequest, cancelled: Callable[[], bool] = lambda: False, resume: Resume | None = None
    ) -> Iterator[Step]:
        if request.drafter.name in self.broken:
            raise DraftError("it does not fit.")
        if request.drafter.name == "odd":
            yield Step(events.Finished("failed", "its table is missing.", [], "", 0.0, 0.0, 0.0), {})
            return
        gamma = {"copy": self.copies, "learn": 3 if request.memory == "warm" else 0}.get(request.drafter.name, 0)
        for step in super().run(replace(request, drafter=Choice(request.drafter.name, {"gamma": gamma})), cancelled):
            if isinstance(step.event, header.Started):
                step = Step(replace(step.event, created=self.created), step.vocab)
            if isinstance(step.event, events.Finished) and request.drafter.name in self.other_text:
                step = Step(replace(step.event, output_ids=list(range(9))), step.vocab)
            yield step


@pytest.fixture
def source(monkeypatch: pytest.MonkeyPatch) -> Drafters:
    found = Drafters()
    monkeypatch.setattr(bench_drafters, "live_source", lambda models, threads: found)
    return found


def bench(*arguments: object) -> int:
    return main(["bench", "drafters", *map(str, arguments)])


def test_drafters_come_from_the_catalogue_plain_decoding_first() -> None:
    catalog = Drafters().catalog()
    assert [one.name for one in chosen(catalog, ())] == ["none", "copy", "learn", "needy", "odd"]
    assert [one.name for one in chosen(catalog, ("learn",))] == ["none", "learn"]
    with pytest.raises(SpecVizError, match="no drafter called 'copi'; known: copy, learn"):
        chosen(catalog, ("copi",))


def test_who_cannot_run_is_named_with_the_reason() -> None:
    source = Drafters(broken={"copy"})
    methods = with_models(chosen(source.catalog(), ()), "")
    met = list(first_runs(source, methods, RunRequest(prompt=""), CARDS[0]))
    assert {one.name: first.reason for one, first in met if first.started is None} == {
        "copy": "it does not fit.",
        "needy": "there is no datastore;\nbuild one.",
        "odd": "its table is missing.",
    }
    found = entrants(source, met, RunRequest(prompt=""), warm_up_prompts(source.catalog(), CARDS, 2))
    assert [(one.drafter, one.memory) for one in found] == [("none", ""), ("learn", "cold"), ("learn", "warm")]


def test_without_plain_decoding_there_is_nothing_to_compare_with() -> None:
    source = Drafters(broken={"none"})
    with pytest.raises(SpecVizError, match=r"plain decoding.*cannot run: it does not fit"):
        list(first_runs(source, with_models(chosen(source.catalog(), ()), ""), RunRequest(prompt=""), CARDS[0]))


def test_a_warm_start_has_run_the_other_prompts_of_the_family_and_never_its_own() -> None:
    source = Drafters()
    met = list(first_runs(source, with_models([DRAFTERS[1]], ""), RunRequest(prompt=""), CARDS[0]))
    warm = entrants(source, met, RunRequest(prompt=""), warm_up_prompts(source.catalog(), CARDS[:2], 4))[1].contestant
    source.requests.clear()
    for _ in range(2):
        assert warm.decode(CARDS[1], lambda: False) is not None
    once = [("code0", "reset"), ("code2", "warm"), ("code1", "warm")]
    assert [(one.prompt_name, one.memory) for one in source.requests] == once * 2


def test_a_family_of_one_prompt_teaches_nothing_so_nobody_is_warm() -> None:
    source = Drafters(prompts=CARDS[:1])
    met = list(first_runs(source, with_models([DRAFTERS[1]], ""), RunRequest(prompt=""), CARDS[0]))
    found = entrants(source, met, RunRequest(prompt=""), warm_up_prompts(source.catalog(), CARDS[:1], 4))
    assert [one.memory for one in found] == ["cold"]


def outcome(drafter: str, prompt: PromptCard, seconds: float, drafting: float = 0.0, repeat: int = 0) -> ContestRun:
    """Two rounds that draft 4 candidates and accept 3, eight tokens out; nothing drafted by plain decoding."""
    one = make_round(0, 0 if drafter == "none" else 4, 0 if drafter == "none" else 3, seconds / 2 - drafting)
    rounds = (replace(one, drafted=replace(one.drafted, seconds=drafting)),) * 2
    measured = Measured(list(range(8)), 2 * seconds, 0.0, counts_of(rounds, 8), engine_s=seconds)
    return ContestRun(drafter, prompt.id, prompt.family, repeat, measured)


def named(names: Iterable[str]) -> list[Entrant]:
    source = Drafters()
    return [Entrant(name, "", True, SourceContestant(name, source, RunRequest(prompt=""))) for name in names]


def row_of(outcomes: list[ContestRun], family: str, drafter: str) -> DrafterRow:
    taking_part = named(dict.fromkeys(one.contestant for one in outcomes))
    section = next(one for one in part(0.0, taking_part, outcomes).sections if one.family == family)
    return next(row for row in section.rows if row.drafter == drafter)


def test_speedups_are_medians_over_prompts_of_the_medians_of_their_repeats() -> None:
    """Prompt one: 2×, 4× and 8×, so 4×; prompt two: 2×. Their median is 3, the quartiles 2.5 and 3.5."""
    one, two = CARDS[0], CARDS[3]
    outcomes = [outcome("none", one, 8, repeat=repeat) for repeat in range(3)]
    outcomes += [outcome("copy", one, 8 / ratio, repeat=repeat) for repeat, ratio in enumerate((2, 8, 4))]
    outcomes += [outcome("none", two, 8), outcome("copy", two, 4)]
    assert row_of(outcomes, "", "copy").speedup == (2.5, 3.0, 3.5)
    assert row_of(outcomes, "code", "copy").speedup == (4.0, 4.0, 4.0)
    assert row_of(outcomes, "prose", "copy").whole_call == (2.0, 2.0, 2.0)


def test_one_slow_run_of_plain_decoding_moves_no_ratio() -> None:
    outcomes = [outcome("none", CARDS[0], seconds) for seconds in (8, 80, 8)] + [outcome("copy", CARDS[0], 4)]
    assert row_of(outcomes, "code", "copy").speedup == (2.0, 2.0, 2.0)
    assert row_of(outcomes, "code", "none").statistics.runs == 3


def test_plain_decoding_runs_before_every_fifth_of_the_others() -> None:
    assert [one.name for one in lineup(named(["none", *"abcdef"]))] == ["none", *"abcde", "none", "f"]
    assert [one.name for one in lineup(named(["none"]))] == ["none"]


def test_a_row_counts_candidates_and_the_share_of_drafting() -> None:
    """3 of 4 accepted in each of two rounds; 1 s of a round's 4 s is drafting."""
    row = row_of([outcome("none", CARDS[0], 16), outcome("copy", CARDS[0], 8, drafting=1)], "code", "copy").statistics
    found = (row.acceptance_rate, row.mean_acceptance_length, row.nodes_per_pass)
    assert found == ((0.75,) * 3, (4.0,) * 3, (4.0,) * 3)
    assert (row.draft_share, row.same_output, row.runs, row.prompts) == (0.25, 1, 1, 1)


def test_the_fastest_of_each_family_wins_even_if_it_is_plain_decoding() -> None:
    outcomes = [outcome("none", CARDS[0], 8), outcome("copy", CARDS[0], 10)]
    outcomes += [outcome("none", CARDS[3], 8), outcome("copy", CARDS[3], 4)]
    winners = {family: row_of(outcomes, family, "copy").winner for family in ("code", "prose")}
    assert winners == {"code": False, "prose": True}
    assert row_of(outcomes, "code", "none").winner


def test_after_an_early_end_nobody_wins_on_fewer_prompts_and_runs_without_a_plain_one_do_not_count() -> None:
    outcomes = [outcome("none", card, 8) for card in CARDS[:2]] + [outcome("copy", CARDS[0], 1)]
    assert row_of(outcomes, "code", "none").winner
    assert row_of([*outcomes, outcome("copy", CARDS[4], 1)], "", "copy").statistics.runs == 1
    with pytest.raises(SpecVizError, match="not a single plain run"):
        part(0.0, [], outcomes[2:])


def test_the_command_writes_its_tables_between_the_marks_of_its_page(
    source: Drafters, pages: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tmp_path = pages
    assert bench("--prompts", 2, "--write", "--json", tmp_path / "b.json") == 0
    full = (tmp_path / "PAGE.md").read_text(encoding="utf-8")
    assert capsys.readouterr().out in full
    titles = [f"**{kind}, temperature {heat}**" for kind in ("All prompts", "code", "prose") for heat in ("0", "0.8")]
    assert [title in full for title in titles] == [True] * 6
    assert "| code | learn warm 4.00× | learn warm 4.00× |" in full
    assert "Different drafters among them: 1 at temperature 0, 1 at temperature 0.8." in full
    assert "| **learn** | warm | **4.00 [4.00–4.00]** |" in full
    assert "| copy | – | 2.00 [2.00–2.00] |" in full
    assert "- `needy`: there is no datastore; build one.\n- `odd`: its table is missing.\n" in full
    data: dict[str, Any] = json.loads((tmp_path / "b.json").read_text(encoding="utf-8"))
    row = data["parts"][0]["sections"][0]["rows"][3]
    assert (row["drafter"], row["memory"], row["speedup"]) == ("learn", "warm", {"low": 4, "median": 4, "high": 4})
    assert (data["absent"]["odd"], data["complete"]) == ("its table is missing.", True)


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The page, empty between its marks."""
    page = tmp_path / "PAGE.md"
    page.write_text("a\n<!-- bench drafters -->\n<!-- /bench drafters -->\nb\n", encoding="utf-8")
    monkeypatch.setattr(bench_drafters, "PAGE", page)
    return tmp_path


def test_one_drafter_measured_anew_leaves_the_rows_of_the_others(source: Drafters, pages: Path, capsys: Any) -> None:
    """`copy` drafts nothing any more: its rows alone change, and the page says that they were measured later."""
    assert bench("--write") == 0
    before = (pages / "PAGE.md").read_text(encoding="utf-8")
    source.copies, source.created = 0, "2026-02-02T00:00:00Z"
    source.requests.clear()
    assert bench("--drafters", "copy", "--write") == 0
    assert {one.drafter.name for one in source.requests} == {"none", "copy"}
    after = (pages / "PAGE.md").read_text(encoding="utf-8")
    changed = [(old, new) for old, new in zip(before.splitlines(), after.splitlines(), strict=True) if old != new]
    rows = [(old[:20], new[:20]) for old, new in changed[:-1]]
    assert rows == [("| copy | – | 2.00 [2", "| copy | – | 1.00 [1")] * 6
    assert "Measured later, with plain decoding beside them on the same machine: copy on 2026-02-02T00:00:00Z." in after
    assert "`needy`: there is no datastore" in after


@pytest.mark.parametrize(
    ("flags", "word"), [(("--prompts", 1), "prompts"), (("--seed", 8), "seed"), (("--temperatures", 1), "temperatures")]
)
def test_rows_that_were_measured_otherwise_are_not_put_beside_each_other(
    source: Drafters, pages: Path, capsys: Any, flags: tuple[object, ...], word: str
) -> None:
    assert bench("--write") == 0
    before = (pages / "PAGE.md").read_text(encoding="utf-8")
    source.requests.clear()
    assert bench("--drafters", "copy", "--write", *flags) == 2
    assert f"were measured with other {word}" in capsys.readouterr().err
    assert len(source.requests) == 2, "the warm-up alone: it was found out before the measurement"
    assert (pages / "PAGE.md").read_text(encoding="utf-8") == before


def test_rows_that_are_kept_nowhere_are_not_overwritten(source: Drafters, pages: Path, capsys: Any) -> None:
    page = pages / "PAGE.md"
    page.write_text("<!-- bench drafters -->\n| old |\n<!-- /bench drafters -->\n", encoding="utf-8")
    assert bench("--drafters", "copy", "--write") == 2
    assert "PAGE.md has rows, but PAGE.json" in capsys.readouterr().err
    assert source.requests == []
    (pages / "PAGE.json").write_text("{}", encoding="utf-8")
    assert bench("--drafters", "copy", "--write") == 2
    assert "PAGE.json holds no report" in capsys.readouterr().err


def test_the_command_keeps_what_is_done_when_its_time_is_over(source: Drafters, capsys: Any) -> None:
    assert bench("--drafters", "copy", "--max-minutes", "0.0000001") == 2
    assert "not a single plain run was finished" in capsys.readouterr().err


def test_the_command_asks_for_the_marks_before_it_measures(source: Drafters, tmp_path: Path, capsys: Any) -> None:
    assert bench("--write", tmp_path / "none.md") == 2
    assert "none.md has no place" in capsys.readouterr().err
    assert source.requests == []


def test_the_shipped_page_has_its_marks() -> None:
    check_section(bench_drafters.PAGE, bench_drafters.MARK)


def test_texts_that_repeat_themselves_are_in_no_headline() -> None:
    """The drafter is 8× where the text loops and 2× where it does not: the table says 2, the other one 8."""
    one, two = CARDS[0], CARDS[3]
    looping = [outcome("none", one, 8), outcome("copy", one, 1)]
    looping = [replace(run, measured=replace(run.measured, output_ids=[1] * 8)) for run in looping]
    found = part(0.0, named(["none", "copy"]), [*looping, outcome("none", two, 8), outcome("copy", two, 4)])
    assert [row.speedup.median for row in found.sections[0].rows] == [1.0, 2.0]
    assert [row.speedup.median for row in found.repeating.rows] == [1.0, 8.0]
    assert [section.rows == () for section in found.sections] == [False, True, False], "code has no such text"
    assert [text.repetition for text in found.texts] == [0.8, 0.0]


def test_a_drafter_whose_own_text_repeats_is_apart_though_plain_decoding_s_does_not() -> None:
    odd = outcome("copy", CARDS[0], 1)
    odd = replace(odd, measured=replace(odd.measured, output_ids=[1] * 8))
    found = part(0.8, named(["none", "copy"]), [outcome("none", CARDS[0], 8), odd])
    assert [row.drafter for row in found.sections[0].rows] == ["none"]
    assert [row.drafter for row in found.repeating.rows] == ["copy"]


def test_the_model_drafter_runs_with_a_second_model_too() -> None:
    methods = [method("none"), method("model")]
    assert [one.name for one in with_models(methods, "weak")] == ["none", "model", "model, weak"]
    template = RunRequest(prompt="")
    assert [one.of(template).drafter_model for one in with_models(methods, "weak")] == ["drafter", "drafter", "weak"]


def test_another_greedy_text_of_a_lossless_drafter_fails_the_command(source: Drafters, capsys: Any) -> None:
    source.other_text = {"copy"}
    assert bench("--drafters", "copy", "--temperatures", 0.8) == 0, "there only the law is the same"
    assert bench("--drafters", "copy") == 1
    said = capsys.readouterr().err
    assert "copy wrote another text than plain decoding at temperature 0 on code0" in said


def test_seeds_are_the_repeats(source: Drafters) -> None:
    assert bench("--drafters", "copy", "--prompts", 1, "--repeats", 2, "--temperatures", 0.8) == 0
    seeds = [one.seed for one in source.requests if one.drafter.name == "copy" and one.temperature]
    assert seeds == [7, 7, 8, 8], "two prompts each"


def test_quick_is_one_prompt_a_family_and_few_tokens(source: Drafters, capsys: Any) -> None:
    assert bench("--drafters", "copy", "--quick") == 0
    assert "over 2 prompts × 1 repeat, each to the end of its text or 32 new tokens" in capsys.readouterr().out
