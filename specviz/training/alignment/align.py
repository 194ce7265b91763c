"""One alignment: a trained drafter, a loss, texts, the loop; and `specviz train drafter-align`, which exports it.

Place in the flow: after the pair is exported; reads the models' folder, writes the work folder and an exported drafter.

The losses align a drafter's distribution q with its target's p: pure functions, exact over the vocabulary. Each takes
p [positions, V], which is constant, and log q [positions, V], which is differentiated, and returns the mean over the
positions, a scalar. To add one, write the function under `@loss("name")`: the option, the study and the tests find it
in `LOSSES`. Two notations: alpha = sum_v min(p, q) is the acceptance probability of one position (Leviathan et al.
2023, 2211.17192, corollary 3.6); sg[x] is x held constant.
"""

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from math import log
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from transformers import LlamaForCausalLM

from specviz.errors import TrainingError
from specviz.lm.checkpoint import sha256_of, weight_files
from specviz.training.alignment.texts import TOKENS_PER_STEP, Diet, Source, batches_of, training_streams
from specviz.training.loop import Loop, LoopOptions, Objective, Report
from specviz.training.optimiser import Budget
from specviz.training.options import TrainOptions
from specviz.training.publish import export_model, load_exported, write_json
from specviz.training.stages import measured_dtype, with_autocast
from specviz.training.target import layer_outputs, logits_of, moved
from specviz.training.windows import Batch, load_tokenizer

Loss = Callable[[Tensor, Tensor], Tensor]

LOSSES: dict[str, Loss] = {}
"""name → loss; filled by `loss`"""
SKEW = 0.5
"""beta of the Jensen-Shannon divergence"""
KL_DECAY = 3.0
"""how fast `lk-hybrid` leaves the KL as alpha rises"""
SAMPLES = 16
"""tokens drawn from q at each position for `tvdpp-sampled`"""
SMALLEST = 1e-6
"""below it a standard deviation counts as this, so that p = q has no gradient instead of 0 / 0"""


def loss(name: str) -> Callable[[Loss], Loss]:
    """Puts a loss under its name."""

    def decorate(function: Loss) -> Loss:
        assert name not in LOSSES, f"two losses are called '{name}'"
        LOSSES[name] = function
        return function

    return decorate


def acceptance(p: Tensor, log_q: Tensor) -> Tensor:
    """alpha of every position: sum_v min(p, q). [positions, V] -> [positions]."""
    return torch.minimum(p, log_q.exp()).sum(-1)


@loss("ce-hard")
def ce_hard(p: Tensor, log_q: Tensor) -> Tensor:
    """-log q(argmax p): cross entropy on the target's most likely token, the only one that greedy decoding accepts."""
    return -log_q.gather(-1, p.argmax(-1, keepdim=True)).mean()


@loss("fkl")
def fkl(p: Tensor, log_q: Tensor) -> Tensor:
    """Forward KL, sum_v p log(p / q): q must cover all that p may say (DistillSpec, Zhou et al. 2023, 2310.08461)."""
    return _kl(p, log_q).mean()


@loss("rkl")
def rkl(p: Tensor, log_q: Tensor) -> Tensor:
    """Reverse KL, sum_v q log(q / p): q keeps to what p is sure of (DistillSpec). p is floored at the smallest number
    that its dtype tells from zero, or one token that p excludes would make it infinite."""
    floor = torch.finfo(p.dtype).tiny
    return (log_q.exp() * (log_q - p.clamp_min(floor).log())).sum(-1).mean()


@loss("jsd")
def jsd(p: Tensor, log_q: Tensor) -> Tensor:
    """Jensen-Shannon, beta KL(p | m) + (1 - beta) KL(q | m) with m = beta p + (1 - beta) q and beta = 1/2: bounded by
    log 2 (generalised JSD of DistillSpec; Agarwal et al. 2023, 2306.13649)."""
    q = log_q.exp()
    # log m through a sum of logarithms: where p and q are both far below 1 their mean may vanish, their logs do not.
    log_m = torch.logaddexp(_log(p) + log(SKEW), log_q + log(1 - SKEW))
    return (SKEW * _kl(p, log_m) + (1 - SKEW) * (q * (log_q - log_m)).sum(-1)).mean()


@loss("tvd")
def tvd(p: Tensor, log_q: Tensor) -> Tensor:
    """Total variation distance, sum_v |p - q| / 2 = 1 - alpha: the rejection rate itself (DistillSpec). Its gradient
    vanishes where p and q hardly overlap."""
    return (p - log_q.exp()).abs().sum(-1).mean() / 2


@loss("tvdpp-global")
def tvdpp_global(p: Tensor, log_q: Tensor) -> Tensor:
    """TVD++ with exact expectations, one mean and deviation for all positions (Goel et al. 2024, 2403.00858).

    The drafter is the policy, x ~ q an action, r(x) = 1[p(x) > q(x)] its reward: grad TVD = -E_q[r grad log q].
    TVD++ rewards (r - mu) / sigma instead. With E_q exact, mu has no effect, for sum_v q grad log q = 0, and sigma is a
    learning rate: the gradient is that of `tvd` times 1 / sigma.
    """
    q, reward = _policy(p, log_q)
    mean = (q * reward).sum(-1).mean()  # scalar
    deviation = (mean * (1 - mean)).sqrt().clamp_min(SMALLEST)  # of a reward that is 0 or 1
    return _with_gradient_of(policy_term(q, log_q, (reward - mean) / deviation), tvd(p, log_q))


@loss("tvdpp-position")
def tvdpp_position(p: Tensor, log_q: Tensor) -> Tensor:
    """TVD++ with exact expectations and a mean and deviation of its own at every position (our reading of 2403.00858):
    each position's gradient of TVD times 1 / sigma there, which weights positions anew."""
    q, reward = _policy(p, log_q)
    mean = (q * reward).sum(-1, keepdim=True)  # [positions, 1]
    deviation = (mean * (1 - mean)).sqrt().clamp_min(SMALLEST)
    return _with_gradient_of(policy_term(q, log_q, (reward - mean) / deviation), tvd(p, log_q))


@loss("tvdpp-sampled")
def tvdpp_sampled(p: Tensor, log_q: Tensor) -> Tensor:
    """TVD++ from tokens x ~ q drawn with torch's generator, mean and deviation over all of them (2403.00858): only here
    a baseline does its work, lower variance."""
    q, reward = _policy(p, log_q)
    drawn = torch.multinomial(q, SAMPLES, replacement=True)  # [positions, SAMPLES] tokens
    earned = reward.gather(-1, drawn)  # [positions, SAMPLES]
    advantage = (earned - earned.mean()) / earned.std(correction=0).clamp_min(SMALLEST)
    return _with_gradient_of(-(advantage * log_q.gather(-1, drawn)).mean(), tvd(p, log_q))


@loss("nla")
def nla(p: Tensor, log_q: Tensor) -> Tensor:
    """Negative log acceptance, -log sum_v min(p, q): the gradient of TVD times 1 / alpha, so that a position of little
    overlap learns too (the `nla` of the speculators library)."""
    floor = torch.finfo(p.dtype).tiny
    return -acceptance(p, log_q).clamp_min(floor).log().mean()


@loss("lk-hybrid")
def lk_hybrid(p: Tensor, log_q: Tensor) -> Tensor:
    """lambda FKL + (1 - lambda) TVD, lambda = exp(-3 sg[alpha]) with the mean alpha of all positions: KL while the two
    are apart, acceptance itself once they are close (LK losses, eta = 3)."""
    share = torch.exp(-KL_DECAY * acceptance(p, log_q).mean().detach())
    return share * fkl(p, log_q) + (1 - share) * tvd(p, log_q)


def policy_term(q: Tensor, log_q: Tensor, advantage: Tensor) -> Tensor:
    """-E_{x~q}[advantage(x) log q(x)], an exact expectation with q in it constant: only its gradient means anything."""
    return -(q * advantage * log_q).sum(-1).mean()


def _policy(p: Tensor, log_q: Tensor) -> tuple[Tensor, Tensor]:
    """(q, reward of every token), both constant."""
    q = log_q.detach().exp()
    return q, (p > q).to(p.dtype)


def _with_gradient_of(term: Tensor, value: Tensor) -> Tensor:
    """A number that reads as `value` and has the gradient of `term`."""
    return term - term.detach() + value.detach()


def _kl(p: Tensor, log_q: Tensor) -> Tensor:
    """sum_v p log(p / q) of every position; tokens with p = 0 add nothing."""
    each: Tensor = torch.special.xlogy(p, p) - p * log_q
    return each.sum(-1)


def _log(p: Tensor) -> Tensor:
    return p.clamp_min(torch.finfo(p.dtype).tiny).log()


ADAM_SHARE = 0.1
"""of Muon's learning rate, for embeddings and norms"""
WARM_UP_STEPS = 5


@dataclass(frozen=True)
class Recipe:
    """How a drafter is aligned: name of a loss, what it reads, the peak learning rate, the seed of the order."""

    loss: str
    diet: Diet
    lr: float
    seed: int = 0


def recipe_of(options: TrainOptions) -> Recipe:
    """The recipe that the options ask for. Raises TrainingError with what there is to choose from."""
    try:
        temperatures = tuple(float(part) for part in options.align_temperatures.split(","))
    except ValueError as error:
        raise TrainingError(
            f"'{options.align_temperatures}' is no list of temperatures: write --align-temperatures 0,0.7,1."
        ) from error
    loss_named(options.loss)
    diet = Diet(options.align_data, options.align_domain, temperatures, options.align_tokens)
    least = TOKENS_PER_STEP * len(diet.names)
    if diet.tokens < least or min(temperatures) < 0 or not diet.domains:
        raise TrainingError(
            f"An alignment on '{diet.data}' needs {least} tokens or more and temperatures of 0 or more: raise "
            "--align-tokens, or write others with --align-temperatures."
        )
    return Recipe(options.loss, diet, options.align_lr, options.seed)


def loss_named(name: str) -> Loss:
    """The loss of that name."""
    if name not in LOSSES:
        raise TrainingError(f"There is no loss '{name}': choose one of {', '.join(LOSSES)}.")
    return LOSSES[name]


def alignment_objective(head: torch.Tensor, loss: Loss) -> Objective:
    """The loss between softmax of the drafter's logits and of the target's, both at temperature 1 and in fp32; head:
    the target's output matrix [V, D]."""

    def objective(model: LlamaForCausalLM, batch: Batch, step: int) -> torch.Tensor:
        if batch.teacher is None:
            raise TrainingError("An alignment needs the target's states beside the tokens.")
        # [batch, length, V] → [positions, V], of drafter and target
        logits = logits_of(model, layer_outputs(model, batch.ids[:, :-1])[-1]).flatten(0, 1)
        teacher = (batch.teacher.to(head.dtype) @ head.T).flatten(0, 1)
        with torch.autocast(logits.device.type, enabled=False):
            return loss(teacher.float().softmax(-1), functional.log_softmax(logits.float(), dim=-1))

    return objective


def source_of(options: TrainOptions) -> Source:
    """The exported target with its training text."""
    folder = options.out_dir / "target"
    tokenizer = load_tokenizer(folder)
    target = moved(load_exported(folder), dtype=measured_dtype(options.dtype, "cpu"))
    work = options.work_dir / f"of-{weights_key(folder)}"  # texts of another target's are none of this one's
    streams = training_streams(work / "text", tokenizer)
    return Source(target, streams, work / f"taught-{options.seed}", tokenizer.eos_token_id, options.seed)


def weights_key(*folders: Path) -> str:
    """Twelve digits that other weights in one of these folders would change."""
    hashes = [sha256_of(weight_files(folder, folder.name)) for folder in folders]
    return hashes[0][:12] if len(hashes) == 1 else sha256("".join(hashes).encode()).hexdigest()[:12]


def start_folder(options: TrainOptions) -> Path:
    """Where the drafter to start from lies."""
    return Path(options.drafter_start) if options.drafter_start else options.out_dir / "drafter"


def first_drafter(options: TrainOptions) -> LlamaForCausalLM:
    """The drafter to start from, in fp32 and ready to learn: the given folder, else the exported one."""
    folder = start_folder(options)
    drafter = load_exported(folder)
    vocabulary = load_exported(options.out_dir / "target").config.vocab_size
    if drafter.config.vocab_size != vocabulary:
        raise TrainingError(
            f"The drafter in '{folder.name}' has {drafter.config.vocab_size} tokens and the target {vocabulary}: "
            "give one with the target's tokenizer."
        )
    drafter.train()
    return drafter


def aligned(
    drafter: LlamaForCausalLM, recipe: Recipe, source: Source, dtype: torch.dtype, folder: Path, report: Report
) -> tuple[LlamaForCausalLM, dict[str, Any]]:
    """The drafter after its alignment (the same object), and what its run took; resumes from `folder`."""
    torch.manual_seed(recipe.seed)  # before the loop, which takes up the state of a checkpoint
    head = source.target.lm_head.weight.detach().float()
    loop = Loop(
        drafter,
        batches_of(recipe.diet, source, drafter, recipe.seed),
        with_autocast(alignment_objective(head, loss_named(recipe.loss)), "cpu", dtype),
        LoopOptions(
            Budget(recipe.diet.tokens),
            matrix_lr=recipe.lr,
            embedding_lr=recipe.lr * ADAM_SHARE,
            weight_decay=0.0,
            warm_up_steps=WARM_UP_STEPS,
            product_dtype=dtype,
            checkpoint_every_s=20.0,
        ),
        folder / "checkpoint.pt",
    )
    model = loop.run(report, lambda model: float("nan")).eval()
    return model, {"steps": loop.progress.step, "tokens": loop.progress.tokens, "seconds": loop.progress.elapsed_s}


def drafter_align(options: TrainOptions, report: Report) -> LlamaForCausalLM:
    """Aligns the drafter and exports it to `align_out`, with `alignment.json` about how."""
    recipe = recipe_of(options)
    source, drafter = source_of(options), first_drafter(options)
    dtype = measured_dtype(options.dtype, "cpu")
    models = weights_key(options.out_dir / "target", start_folder(options))
    work = options.work_dir / "runs" / sha256(f"{recipe} {models}".encode()).hexdigest()[:12]
    model, run = aligned(drafter, recipe, source, dtype, work, report)
    export_model(model, load_tokenizer(options.out_dir / "target"), options.align_out)
    facts = {"loss": recipe.loss, **vars(recipe.diet), "lr": recipe.lr, "seed": recipe.seed, **run}
    write_json(options.align_out / "alignment.json", facts | {"command": options.command}, report)
    return model
