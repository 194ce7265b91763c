"""The table of drafters: every bundled drafter declares its row, and what it cost is worked out from measured runs."""

from dataclasses import replace

from specviz.app.form.methods import UNMEASURED, UNSAID, drafter_rows, drafter_table
from specviz.live.catalog import build, own
from specviz.protocol.runs import Catalog
from specviz.protocol.sweeps.points import SweepPoint
from specviz.trace.header import StepTime
from tests.app.doubles import catalog
from tests.app.lab.sweeps import drafted


def one_drafter(name: str, guesses_from: str = "") -> Catalog:
    full = catalog()
    return replace(full, drafters=(replace(full.drafters[0], name=name, guesses_from=guesses_from),))


def test_every_bundled_drafter_says_what_it_guesses_from_and_what_that_takes() -> None:
    for row in drafter_rows(own(build())):
        assert UNSAID not in row.cells(), row.name


def test_a_second_model_is_asked_of_those_that_draft_with_one() -> None:
    second = {row.name: row.second_model for row in drafter_rows(own(build()))}
    assert (second["model"], second["vocabtrim"], second["ngram"], second["none"]) == ("yes", "yes", "no", "no")


def test_the_cost_is_drafting_time_per_round_in_target_passes_over_the_settings() -> None:
    steps = (StepTime(rows=1, cached_rows=0, median_s=0.01, low_s=0.01, high_s=0.01),)

    def spent(label: str, seconds: float) -> SweepPoint:
        cost = replace(drafted().cost, draft_s=seconds)
        return drafted(label=label, rounds=10, cost=cost, step_times=steps)

    runs = [spent("γ 2", 0.05), spent("γ 2", 0.07), spent("γ 2", 0.06), spent("γ 8", 0.2)]
    (row,) = drafter_rows(one_drafter("model"), runs)
    assert row.cost == "0.60 to 2.00 target passes per draft"


def test_what_was_not_measured_or_said_says_so() -> None:
    (row,) = drafter_rows(one_drafter("from elsewhere"))
    assert (row.cost, row.guesses_from) == (UNMEASURED, UNSAID)


def test_names_are_text() -> None:
    assert "<b>" not in drafter_table(one_drafter("<b>bold</b>", guesses_from="<b>"))
