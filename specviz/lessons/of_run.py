"""Values of a whole run: its counts, its methods, and what its clock says."""

from __future__ import annotations

from specviz.errors import LessonError
from specviz.lessons.answers import Here, Value, answer, known
from specviz.lessons.moments import over_plain
from specviz.theory import metrics
from specviz.theory.formulas import StepTimes
from specviz.trace.summary import drafted_depth


@answer
def tokens(here: Here) -> Value:
    """Output tokens of the whole run."""
    return len(here.trace.finished.output_ids)


@answer
def passes(here: Here) -> Value:
    """Target passes of the whole run."""
    return len(here.trace.rounds)


@answer
def passes_saved(here: Here) -> Value:
    """Target passes that plain decoding would have needed more."""
    return len(here.trace.finished.output_ids) - len(here.trace.rounds)


@answer
def tokens_per_pass(here: Here) -> Value:
    """Tokens per target pass over the run; see `metrics.tokens_per_target_pass`."""
    return known(metrics.tokens_per_target_pass(here.trace.rounds), "its tokens per pass")


@answer
def acceptance_rate(here: Here) -> Value:
    """accepted / drafted over the run; unreached candidates count as drafted."""
    return known(metrics.acceptance_rate(here.trace.rounds), "an acceptance rate")


@answer
def alpha(here: Here) -> Value:
    """accepted / tested over the run."""
    return known(metrics.alpha_reached(here.trace.rounds), "α")


@answer
def drafted_in_run(here: Here) -> Value:
    """Candidates drafted in the whole run."""
    return metrics.num_draft_tokens(here.trace.rounds)


@answer
def accepted_in_run(here: Here) -> Value:
    """Candidates accepted in the whole run."""
    return metrics.num_accepted_draft_tokens(here.trace.rounds)


@answer
def not_accepted_in_run(here: Here) -> Value:
    """Candidates drafted in vain: rejected or unreached."""
    return metrics.num_draft_tokens(here.trace.rounds) - metrics.num_accepted_draft_tokens(here.trace.rounds)


@answer
def drafter(here: Here) -> Value:
    """The drafter's name."""
    return here.trace.started.drafter.name


@answer
def verifier(here: Here) -> Value:
    """The verifier's name."""
    return here.trace.started.verifier.name


@answer
def stop_policy(here: Here) -> Value:
    """The stop policy's name."""
    card = here.trace.started.stop_policy
    return known(None if card is None else card.name, "a stop policy")


@answer
def temperature(here: Here) -> Value:
    """The temperature of the run."""
    return here.trace.started.sampling.temperature


@answer
def drafter_model(here: Here) -> Value:
    """`model` or `no_model`."""
    return "no_model" if here.trace.started.drafter.model is None else "model"


@answer
def law(here: Here) -> Value:
    """`lossless` or `lossy`: whether every method of the run keeps the target's law."""
    started = here.trace.started
    cards = (started.drafter, started.verifier, started.tree_policy, started.stop_policy)
    return "lossless" if all(card.lossless for card in cards if card is not None) else "lossy"


@answer
def times_are(here: Here) -> Value:
    """`measured` or `modelled`: where the seconds of this run come from."""
    return "modelled" if here.trace.started.source == "simulated" else "measured"


@answer
def target_size(here: Here) -> Value:
    """Millions of parameters."""
    return here.trace.started.target.parameters / 1e6


@answer
def drafter_size(here: Here) -> Value:
    """Millions of parameters of the drafter's own model."""
    card = here.trace.started.drafter.model
    return known(None if card is None else card.parameters / 1e6, "the size of a draft model")


# --- the clock -------------------------------------------------------------------------------------------------------


def _step_times(here: Here) -> StepTimes:
    if here.trace.started.source == "simulated" or not here.trace.started.step_times:
        raise LessonError("this run has no measured step times in its header.")
    return StepTimes.of(here.trace.started.step_times)


@answer
def plain_ms(here: Here) -> Value:
    """Measured milliseconds of one target pass over one row."""
    return 1000 * _step_times(here).at(1)


@answer
def pass_ms(here: Here, rows: int) -> Value:
    """Measured milliseconds of one target pass over `rows` rows, between measurements on a straight line."""
    return 1000 * _step_times(here).at(rows)


@answer
def pass_ratio(here: Here, rows: int) -> Value:
    """t(rows) ÷ t(1), measured on the run's machine."""
    times = _step_times(here)
    return times.at(rows) / times.at(1)


@answer
def step_cost_ratio(here: Here) -> Value:
    """c: a bare drafter pass ÷ a bare target pass, both over one row, measured."""
    step = known(here.trace.started.draft_step_s, "what a drafter pass costs")
    return float(step) / _step_times(here).at(1)


@answer
def gain(here: Here) -> Value:
    """Times as fast as plain decoding, measured; see `over_plain`."""
    _step_times(here)
    return over_plain(here.trace)


@answer
def pace(here: Here) -> Value:
    """`faster` or `slower` than plain decoding on the same machine."""
    return "faster" if float(gain(here)) > 1 else "slower"


@answer
def draft_share(here: Here) -> Value:
    """Per cent of the run's engine time that went into drafting."""
    shares = metrics.time_shares(here.trace.rounds)
    return round(100 * float(known(None if shares is None else shares.draft, "where its time went")))


@answer
def deepest(here: Here) -> Value:
    """Depth of the deepest draft of the run."""
    return max(map(drafted_depth, here.trace.rounds))
