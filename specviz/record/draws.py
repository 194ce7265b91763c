"""What a stretch of torch code draws: the uniform numbers that verdicts compare, and the tokens.

Only while it is switched on, and without drawing anything itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode


class Draws(TorchFunctionMode):
    """The results of `torch.rand_like` and `torch.multinomial`, in the order in which they were called."""

    def __init__(self) -> None:
        super().__init__()
        self.uniforms: list[Tensor] = []
        self.tokens: list[Tensor] = []

    def start(self) -> None:
        """From here on."""
        super().__enter__()  # type: ignore[no-untyped-call]

    def stop(self) -> None:
        """Until here."""
        super().__exit__(None, None, None)  # type: ignore[no-untyped-call]

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if func is torch.rand_like:
            self.uniforms.append(result)
        elif func is torch.multinomial:
            self.tokens.append(result)
        return result
