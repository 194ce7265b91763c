"""The choices of a training run; the only place where a default and its explanation stand.

Place in the flow: built by the command from its arguments and handed to every stage.
"""

# ruff: noqa: RUF009 -- `option` only wraps `field`; every default is immutable

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

VOCABULARY_SIZE = 4096


def option(default: Any, explanation: str) -> Any:
    """A field with its default and the line that `--help` shows."""
    return field(default=default, metadata={"help": explanation})


@dataclass(frozen=True)
class TrainOptions:
    """What a user may choose; times in minutes, lengths in tokens."""

    work_dir: Path = option(Path(".cache/specviz/train"), "folder for text, checkpoints and logs; runs resume from it")
    out_dir: Path = option(Path("assets/models"), "folder that receives target/, drafter/ and drafter-weak/")
    prompts: Path = option(Path("assets/prompts/prompts.json"), "the prompt set that acceptance is measured on")
    seed: int = option(0, "decides the split, the weights' start and the order of the text")
    tokens: int = option(20_000_000, "most tokens of one run; the learning rate reaches zero here")
    minutes: float = option(
        85.0, "most minutes of the target's or the modules' run, across resumes; 0: tokens alone decide"
    )
    drafter_minutes: float = option(12.0, "most minutes of the drafter's run; 0: tokens alone decide")
    teach_minutes: float = option(6.0, "minutes in which the target writes and reads the drafter's text")
    weak_minutes: float = option(4.0, "most minutes of the weaker drafter's run; 0: tokens alone decide")
    start: str = option("", "folder of a trained target to go on from; empty: fresh weights")
    drafter_start: str = option("", "folder of a distilled drafter to go on from; empty: the target's first layers")
    english: float = option(0.0, "share of the target's windows that hold plain English; 0: Python alone")
    english_characters: int = option(24_000_000, "characters of plain English that `prepare` writes")
    english_seed: int = option(0, "decides the training documents in plain English; another one gives new text")
    english_shares: str = option("", "shares of its families, such as `facts=0.5 sums=0.1`; the others share the rest")
    decay: float = option(1.0, "share of the target's budget, at its end, in which the learning rate falls to zero")
    figure_cases: int = option(100, "held-out cases for each figure of `figures` and `keep`")
    figure_prompts: int = option(6, "prompts of each family that `measure` counts acceptance on")
    tokenizer: str = option("", "folder of a tokenizer to keep; empty: `prepare` trains one")
    copies: float = option(0.0, "share of training windows whose passage stands there twice, to teach copying")
    layers: int = option(8, "layers of the target")
    hidden: int = option(384, "hidden size of both models")
    heads: int = option(6, "attention heads of both models")
    intermediate: int = option(1024, "inner size of the target's MLP")
    drafter_layers: int = option(2, "layers of the drafter")
    drafter_intermediate: int = option(352, "inner size of the drafter's MLP")
    weak_hidden: int = option(256, "hidden size of the weaker drafter, which has one layer")
    weak_heads: int = option(4, "attention heads of the weaker drafter")
    weak_intermediate: int = option(160, "inner size of the weaker drafter's MLP")
    vocabulary: int = option(VOCABULARY_SIZE, "tokens of the tokenizer")
    window: int = option(512, "tokens per training window")
    batch_tokens: int = option(4096, "tokens per optimiser step")
    grow_at: float = option(
        0.5, "fraction of the budget after which the depth is doubled; 0: full depth from the start"
    )
    matrix_lr: float = option(0.012, "peak learning rate of Muon for the target")
    drafter_lr: float = option(0.01, "peak learning rate of Muon for the drafter")
    embedding_lr: float = option(3e-3, "peak learning rate of AdamW for embeddings and norms (a third for the drafter)")
    hard_share: float = option(0.5, "weight of the target's most likely token beside the KL in the drafter's loss")
    names: tuple[str, ...] = option(
        (), "drafter modules that `module` trains, or models that `export` writes or `captions` trains, named behind it"
    )
    module_options: str = option("", "their shapes, such as `eagle.unroll=3 eagle.depths=2,5,8`")
    module_english: float = option(0.5, "share of plain English in the text that modules learn from")
    module_start: str = option(
        "", "holds folders of trained modules to go on from, of any target; empty: fresh weights"
    )
    module_frozen: bool = option(False, "keep the weights in --module-start as they are, train only what they lack")
    module_lr: float = option(0.01, "peak learning rate of Muon for modules (a tenth for what AdamW trains)")
    module_rows: int = option(
        4, "texts of 192 tokens that a step of `module` learns from; more where a device has room"
    )
    speculators: bool = option(False, "write modules of EAGLE-3's wiring in the layout of speculators too")
    target: str = option("target", "bundled name or folder of the target that modules learn to draft for")
    out: str = option(
        "",
        "receives a folder for each trained module; empty: assets/modules, for another target below one of its name, "
        "where no weights are written over",
    )
    loss: str = option(
        "fkl",
        "loss of `drafter-align`, `module`: ce-hard, fkl, rkl, jsd, tvd, tvdpp-…, nla or lk-hybrid; of a module that "
        "learns from text alone also ce-text",
    )
    align_data: str = option("target", "texts of `drafter-align`: corpus, target, drafter, or several joined by a plus")
    align_domain: str = option("both", "domain of those texts: english, python or both")
    align_temperatures: str = option("0,0.7,1", "temperatures at which `drafter-align` lets text be written")
    align_tokens: int = option(200_000, "tokens that `drafter-align` learns from")
    align_lr: float = option(1e-3, "peak learning rate of Muon for `drafter-align` (a tenth for embeddings and norms)")
    align_out: Path = option(Path(".cache/specviz/aligned"), "folder that receives the drafter of `drafter-align`")
    dtype: str = option("auto", "auto (time both, take the faster), float32 or bfloat16 (autocast)")
    device: str = option("cpu", "torch device")
    compile: bool = option(False, "compile the target's layers with torch.compile: faster, needs a C++ compiler")
    with_packages: bool = option(False, "add installed packages of requirements.txt that have a permissive licence")
    machine: str = option("a 2-core CPU", "how the model card describes the machine")
    command: str = option("specviz train", "the command the model card gives; by default the present one")
    note: str = option("", "a remark on the run for the model card")

    @property
    def batch_size(self) -> int:
        """Windows per optimiser step."""
        return max(1, self.batch_tokens // self.window)
