"""Values of a run: its counts, methods and times; and those of one round and of one trial in it."""

from __future__ import annotations

from specviz.errors import LessonError
from specviz.lessons.answers import Here, Value, answer, known
from specviz.lessons.moments import PARTED, earlier_siblings, over_plain
from specviz.theory import metrics
from specviz.theory.formulas import StepTimes
from specviz.theory.speedup import is_noisy
from specviz.trace.summary import accepted_drafts, drafted_depth, drafts


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
    return known(metrics.alpha(here.trace.rounds), "α")


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
    """Times as fast as plain decoding, measured, as the player's headline says it: the least where more is not sure."""
    _step_times(here)
    return over_plain(here.trace)


@answer
def pace(here: Here) -> Value:
    """`faster` or `slower` than plain decoding on the same machine, or `too close to tell`."""
    if is_noisy(here.trace):
        return "too close to tell"
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


@answer
def round_number(here: Here) -> Value:
    """From 1, as on the screen."""
    return here.moment.round + 1


@answer
def drafted(here: Here) -> Value:
    """Candidates of the round."""
    return len(drafts(here.this))


@answer
def depth(here: Here) -> Value:
    """Depth of the round's draft: γ of a chain."""
    return drafted_depth(here.this)


@answer
def rows(here: Here) -> Value:
    """New rows of the round's target pass: the root and every candidate."""
    return here.this.scored.target_pass.rows


@answer
def accepted(here: Here) -> Value:
    """Candidates of the round that were accepted."""
    return accepted_drafts(here.this)


@answer
def rejected(here: Here) -> Value:
    """Candidates of the round that were rejected."""
    return sum(node.fate == "rejected" for node in drafts(here.this))


@answer
def tried(here: Here) -> Value:
    """Trials of the round."""
    return len(here.this.judged.trials)


@answer
def unreached_in_round(here: Here) -> Value:
    """Candidates of the round that were never tried."""
    return sum(node.fate == "unreached" for node in drafts(here.this))


@answer
def kept(here: Here) -> Value:
    """Tokens that the round added to the text."""
    return len(here.this.committed.tokens)


@answer
def cache_before(here: Here) -> Value:
    """Rows of the target's cache before the round."""
    return here.this.committed.cache_before


@answer
def cache_kept(here: Here) -> Value:
    """Rows of it after the round: the text and the accepted path."""
    return here.this.committed.cache_kept


@answer
def cache_dropped(here: Here) -> Value:
    """Rows that the pass wrote and that are dropped again."""
    return here.this.committed.cache_dropped


@answer
def drafter_passes(here: Here) -> Value:
    """Passes of the drafter in the round."""
    return len(here.this.drafted.passes)


@answer
def next_drafter_rows(here: Here) -> Value:
    """Rows of the drafter's first pass in the next round: more than one where its cache has to catch up."""
    following = here.trace.rounds[here.moment.round + 1 : here.moment.round + 2]
    if not following or not following[0].drafted.passes:
        raise LessonError("no drafter pass follows this round.")
    return following[0].drafted.passes[0].rows


@answer
def origin(here: Here) -> Value:
    """`bonus`, `correction` or `target`: where the round's last token comes from."""
    return here.this.judged.origin


@answer
def drawn_from(here: Here) -> Value:
    """`residual` or `target`: which distribution the round's last token was taken from."""
    return "target" if here.this.judged.residual is None else "residual"


@answer
def residual_mass(here: Here) -> Value:
    """Mass of the residual before it is normalised."""
    return known(here.this.judged.residual_mass, "the mass of a residual")


@answer
def last_token(here: Here) -> Value:
    """The text of the round's last token."""
    return _text(here, here.this.judged.token)


# --- the trial -------------------------------------------------------------------------------------------------------


@answer
def token(here: Here) -> Value:
    """The text of the candidate."""
    return _text(here, here.node.token)


@answer
def p(here: Here) -> Value:
    """p of the trial: after the residuals of earlier rejected siblings."""
    return here.trial.target_prob


@answer
def q(here: Here) -> Value:
    """Q of the trial; 1 for a point mass."""
    return here.trial.draft_prob


@answer
def p_before(here: Here) -> Value:
    """The target's own probability of the candidate, before any sibling was rejected."""
    return known(here.node.target_prob, "the target's probability of this candidate")


@answer
def acceptance_probability(here: Here) -> Value:
    """With which probability the trial accepted: its threshold."""
    return here.trial.threshold


@answer
def strict_probability(here: Here) -> Value:
    """With which probability the lossless rule for one candidate would accept: min(1, p/q)."""
    return min(1.0, here.trial.target_prob / here.trial.draft_prob)


@answer
def u(here: Here) -> Value:
    """The uniform draw of the trial."""
    return known(here.trial.u, "a uniform draw u")


@answer
def verdict(here: Here) -> Value:
    """`accepted` or `rejected`."""
    return "accepted" if here.trial.accepted else "rejected"


@answer
def tested_against(here: Here) -> Value:
    """`residual` or `target`: what the candidate of this trial was tested against."""
    return "residual" if abs(here.trial.target_prob - float(p_before(here))) > PARTED else "target"


@answer
def siblings_before(here: Here) -> Value:
    """Siblings rejected before this trial."""
    index = known(here.moment.trial, "a trial")
    return len(earlier_siblings(here.this, int(index)))


@answer
def left_for_rejected(here: Here) -> Value:
    """What the residual holds for the rejected candidate: max(0, p - q)."""
    rejected = [trial for trial in here.this.judged.trials if not trial.accepted]
    if not rejected:
        raise LessonError("nothing was rejected in this round.")
    return max(0.0, rejected[-1].target_prob - rejected[-1].draft_prob)


def _text(here: Here, token_id: int) -> str:
    """Between marks that set a token apart on the screen; blanks and line ends are made visible."""
    text = here.trace.vocab[str(token_id)].text.replace(" ", "␣").replace("\n", "⏎")
    return f"\u2068{text}\u2069"
