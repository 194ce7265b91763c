"""The choices of a training run; the only place where a default stands.

Place in the flow: built by the command from its arguments and handed to every stage.
It knows nothing about what a stage does with them.
"""

from dataclasses import dataclass
from pathlib import Path

from specviz.training.tokenizer import VOCABULARY_SIZE


@dataclass(frozen=True)
class TrainOptions:
    """What a user may choose; times in minutes, lengths in tokens."""

    work_dir: Path = Path(".cache/specviz/train")
    seed: int = 0
    layers: int = 8
    hidden: int = 384
    heads: int = 6
    intermediate: int = 1024
    drafter_intermediate: int = 448
    vocabulary: int = VOCABULARY_SIZE
    window: int = 512
    batch_tokens: int = 4096
    tokens: int = 20_000_000
    minutes: float = 85.0
    drafter_minutes: float = 18.0
    drafter_layers: int = 1
    teach_minutes: float = 8.0
    drafter_lr: float = 0.01
    hard_share: float = 0.5
    grow_at: float = 0.35
    matrix_lr: float = 0.02
    embedding_lr: float = 3e-3
    dtype: str = "auto"
    device: str = "cpu"
    with_packages: bool = False
    out_dir: Path = Path("assets/models")
    prompts: Path = Path("assets/prompts/prompts.json")
    machine: str = "a 2-core CPU"
    command: str = "specviz train"

    @property
    def batch_size(self) -> int:
        """Windows per optimiser step."""
        return max(1, self.batch_tokens // self.window)
