"""What a network that reads the target's cache is like: three published shapes of it, and how it is trained.

Registers nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from specviz.errors import OptionError
from specviz.options import Options, option

LONGSPEC, GLIDE, TANDEM = "longspec", "glide", "tandem"
PRESETS = (LONGSPEC, GLIDE, TANDEM)
WINDOW = 64
ANCHORS = 4
"""most tokens at the front of a text whose positions are left as they are (LongSpec's code draws 0 to 4)"""


@dataclass(frozen=True)
class CrossKVShape(Options):
    """Which of the three it is, its size, and how it learns."""

    preset: str = option(
        LONGSPEC,
        help="longspec: a window of its own and the target's last keys and values; glide: its own rows of the whole "
        "text beside them; tandem: two layers on projected states of the target",
        choices=PRESETS,
    )
    window: int = option(
        0, help=f"longspec: tokens of the text that its own attention sees; 0: {WINDOW}", minimum=0, maximum=4096
    )
    block: int = option(
        4, help="tokens from the last one that the target has read, at most, in training", minimum=1, maximum=16
    )
    noisy: bool = option(True, help="whether training leaves out the target's last rows, as a draft has to")
    anchors: str = option(
        "auto",
        help="whether training puts texts at positions further on, but for their first tokens; auto: for longspec",
        choices=("auto", "on", "off"),
    )
    text_weight: float = option(
        -1.0,
        help="weight of the cross entropy to the text beside the distance to the target; -1: 0.5 for tandem, else 0",
        minimum=-1.0,
        maximum=10.0,
    )
    heads: int = option(0, help="heads of its own attention; 0: by the target's size", minimum=0, maximum=64)
    ffn: int = option(0, help="inner size of the MLP; 0: by the target's size", minimum=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.window and self.preset != LONGSPEC:
            raise OptionError(f"window is {self.window}, but {self.preset} has none; leave it at 0.")

    @property
    def text_tokens(self) -> int | None:
        """Tokens of the text whose own rows a draft sees, the root's aside; None: all of them."""
        return {LONGSPEC: (self.window or WINDOW) - 1, GLIDE: None, TANDEM: 0}[self.preset]

    @property
    def projects(self) -> bool:
        """Whether it attends to projected states, by one softmax with its own rows; else to keys and values."""
        return self.preset == TANDEM

    @property
    def moves_text(self) -> bool:
        """Whether it is trained on texts at positions further on."""
        return self.anchors == "on" or (self.anchors == "auto" and self.preset == LONGSPEC)

    @property
    def share_of_text(self) -> float:
        """Weight of the cross entropy to the text."""
        return self.text_weight if self.text_weight >= 0 else 0.5 * self.projects

    def own_heads(self, hidden: int) -> tuple[int, int]:
        """Heads of its own attention and their size, an even one."""
        heads = self.heads or max(1, hidden // (192 if self.projects else 128))
        return heads, max(2, 2 * (hidden // ((6 if self.projects else 4) * heads)))

    def inner(self, hidden: int) -> int:
        """Inner size of the MLP."""
        return self.ffn or max(2, hidden * 7 // 24 if self.projects else hidden // 2)

    def depths(self, layers: int) -> tuple[int, ...]:
        """After how many of the target's layers its own layers read states, one each."""
        return tuple(sorted({max(1, layers // 2), layers})) if self.projects else ()
