"""Values of one round and of one trial in it."""

from __future__ import annotations

from specviz.errors import LessonError
from specviz.lessons.answers import Here, Value, answer, known
from specviz.lessons.trial_moments import PARTED, earlier_siblings
from specviz.trace.summary import accepted_drafts, drafted_depth, drafts


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
