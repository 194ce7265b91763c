"""Which drafter, verifier and sampling belong together; refused where they do not, with the reason and the cure.

Every illegal pairing would run and be silently wrong. Knows the methods only by what their classes declare.
"""

from __future__ import annotations

from specviz.core.sampling import Sampling
from specviz.drafters.base import Drafter, DraftPolicies
from specviz.drafters.capabilities import Grows, ReadsBranches, model_of, policies_of
from specviz.errors import PairingError, VocabularyMismatch
from specviz.lm.base import GivesHidden, LanguageModel
from specviz.options import Options
from specviz.stop_policies.base import StopOptions, StopPolicy
from specviz.verifiers.base import Verifier

KIND_WORDS = {
    "iid": "candidates drawn i.i.d.",
    "without_replacement": "candidates drawn without replacement",
    "point_mass": "candidates chosen without randomness (point masses)",
}


def follow(drafter: Drafter[Options], draft_policies: DraftPolicies) -> None:
    """Have the drafter follow these policies. Raises PairingError where it grows no trees and is told how to."""
    if isinstance(drafter, Grows):
        drafter.follow(draft_policies)
        return
    asked = [
        word
        for word, given in (
            ("tree policy", draft_policies.tree_policy is not None),
            ("stop policy", not draft_policies.stop_policy.does_nothing()),
        )
        if given
    ]
    if asked:
        raise PairingError(
            f"the drafter '{drafter.name}' makes its drafts in its own way and has no {' and no '.join(asked)}; leave "
            "tree policy and stop policy at their defaults or choose the drafter 'model'."
        )


def check_pairing(drafter: Drafter[Options], verifier: type[Verifier[Options]], sampling: Sampling) -> None:
    """Raises PairingError where the verifier's rule does not hold for these candidates at this temperature.

    No weights are needed, so that a screen can ask before anything is loaded.
    """
    draft_policies = policies_of(drafter)
    tree_policy = draft_policies.tree_policy
    _check_stop_policy(drafter, draft_policies.stop_policy, sampling)
    if verifier.temperatures == "zero" and not sampling.greedy:
        raise PairingError(
            f"the verifier '{verifier.name}' works at temperature 0 only, but the temperature is "
            f"{sampling.temperature:g}; set it to 0 or choose the verifier 'sequential'."
        )
    who = f"the drafter '{drafter.name}'" + (
        "" if tree_policy is None else f" with the tree policy '{tree_policy.name}'"
    )
    if verifier.shapes == "chain" and drafter.shape(sampling) != "chain":
        raise PairingError(
            f"the verifier '{verifier.name}' judges a chain of candidates only, but {who} gives "
            "candidates siblings with these options; draft a chain (no branching) or choose another verifier."
        )
    unknown = sorted(drafter.kinds(sampling) - verifier.judges)
    if unknown:
        words = " and ".join(KIND_WORDS.get(kind, kind) for kind in unknown)
        raise PairingError(
            f"the verifier '{verifier.name}' does not judge {words}, but {who} makes them with "
            "these options; choose another verifier or another way of drawing."
        )
    _check_merged(drafter, verifier, sampling)
    if tree_policy is not None and tree_policy.opens and not verifier.takes_the_targets:
        raise PairingError(
            f"the tree policy '{tree_policy.name}' lets the target propose the first level, about which the verifier "
            f"'{verifier.name}' has nothing to decide; choose the verifier 'longest_path', which is lossy as well."
        )
    if tree_policy is not None and tree_policy.rereads and not isinstance(drafter, ReadsBranches):
        raise PairingError(
            f"the tree policy '{tree_policy.name}' asks for a second pass with these options, which the drafter "
            f"'{drafter.name}' cannot make; switch rescore off or choose the drafter 'dflash'."
        )
    if verifier.counts_siblings and tree_policy is not None and not tree_policy.settles_siblings:
        raise PairingError(
            f"the verifier '{verifier.name}' reckons with the number of siblings, but the tree policy "
            f"'{tree_policy.name}' decides while drawing how many there are, which would bias the text; choose the "
            f"tree "
            "policy 'levels' or the verifier 'sequential'."
        )


def _check_merged(drafter: Drafter[Options], verifier: type[Verifier[Options]], sampling: Sampling) -> None:
    """Raises PairingError where a rule or a policy is not for the merged trees of several models."""
    if not drafter.candidates.merged:
        return
    tree_policy = policies_of(drafter).tree_policy
    if tree_policy is not None and tree_policy.opens:
        raise PairingError(
            f"the tree policy '{tree_policy.name}' lets the target propose the first level, but the drafter "
            f"'{drafter.name}' merges the trees of several models, each of which would begin with it; choose another "
            "tree policy or the drafter 'model'."
        )
    if not verifier.judges_merged and drafter.kinds(sampling) != {"point_mass"}:
        raise PairingError(
            f"the verifier '{verifier.name}' does not judge siblings that were drawn from several distributions, which "
            f"the drafter '{drafter.name}' makes with these options; choose the verifier 'sequential' or the drafter "
            "'model'."
        )


def _check_stop_policy(drafter: Drafter[Options], stop_policy: StopPolicy[StopOptions], sampling: Sampling) -> None:
    """Raises PairingError where the stop policy cannot do its work at this temperature or with this drafter."""
    if stop_policy.temperatures == "zero" and not sampling.greedy:
        raise PairingError(
            f"the stop policy '{stop_policy.name}' works at temperature 0 only, because above it what the target will "
            f"accept "
            f"is not settled beforehand, but the temperature is {sampling.temperature:g}; set it to 0 or choose "
            "another stop policy."
        )
    if stop_policy.needs_hidden and not (isinstance(drafter, Grows) and drafter.gives_hidden()):
        raise PairingError(
            f"the stop policy '{stop_policy.name}' looks at hidden states, but the drafter '{drafter.name}' gives "
            f"none; "
            "choose the drafter 'model' or another stop policy."
        )


def check_models(target: LanguageModel, drafter: Drafter[Options]) -> None:
    """Raises VocabularyMismatch where ids of the drafter's model could not mean the target's tokens, PairingError where
    its stop policy cannot work with this model."""
    model, stop_policy = model_of(drafter), policies_of(drafter).stop_policy
    if model is not None and stop_policy.needs_hidden:
        reason = (
            stop_policy.why_not(model.info.hidden_size, model.info.weights_sha256)
            if isinstance(model, GivesHidden)
            else "the code that runs it gives no hidden states"
        )
        if reason is not None:
            raise PairingError(
                f"the stop policy '{stop_policy.name}' cannot work with the drafter's model {model.info.name}, because "
                f"{reason}; train it with `specviz learn` on runs of this drafter, or choose another stop policy."
            )
    if model is not None and model.info.vocab_size != target.info.vocab_size:
        raise VocabularyMismatch(
            f"{model.info.name} has {model.info.vocab_size} tokens and {target.info.name} {target.info.vocab_size}; "
            "choose a drafter that was trained with the target's tokenizer."
        )
