"""A CUDA device that is not there: tensors that say they lie on one, with the numbers that a CPU works out for them.

    operation ─► torch's FakeTensorMode: shape and device of the result, tensors of two devices refused as CUDA does
              └► the same on the CPU: its numbers

So the engine runs whole, down to the last token, on a machine without a device, and two kinds of mistake show: a tensor
that was made in the wrong place, and a question for which the processor must wait until the device has answered. Those
are counted by where in the engine they were asked.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_leaves, tree_map

aten = torch.ops.aten
CUDA = torch.device("cuda", 0)
ASKS = {aten.item.default, aten._local_scalar_dense.default, aten.nonzero.default, aten.equal.default}
"""operations whose result the processor has to see"""


class OnDevice(Tensor):
    """A tensor on the device."""

    __torch_function__ = torch._C._disabled_torch_function_impl
    shape_there: Tensor
    """what FakeTensorMode knows of it"""
    numbers: Tensor
    """on the CPU"""

    @staticmethod
    def __new__(cls, shape_there: Tensor, numbers: Tensor) -> OnDevice:
        made: OnDevice = Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]
            cls, shape_there.shape, strides=shape_there.stride(), dtype=shape_there.dtype, device=CUDA
        )
        made.shape_there, made.numbers = shape_there, numbers
        return made

    def tolist(self) -> Any:
        """As of any tensor of a device: torch itself does not ask a subclass."""
        return self.cpu().tolist()

    def __int__(self) -> int:
        return int(self.item())

    __index__ = __int__

    def __float__(self) -> float:
        return float(self.item())

    def __bool__(self) -> bool:
        return bool(self.item())

    def contiguous(self, **kwargs: Any) -> Tensor:  # type: ignore[override]
        found: Tensor = aten.contiguous.default(self, **kwargs)
        return found

    def __invert__(self) -> Tensor:
        found: Tensor = aten.bitwise_not.default(self)
        return found

    def nonzero(self) -> Tensor:
        found: Tensor = aten.nonzero.default(self)
        return found

    def detach(self) -> Tensor:
        return OnDevice(self.shape_there, self.numbers)

    def copy_(self, other: Tensor, non_blocking: bool = False) -> Tensor:
        found: Tensor = aten.copy_.default(self, other, non_blocking)
        return found

    def __getitem__(self, index: Any) -> Any:
        """A build of torch without CUDA cannot pass an index on to a device, so that its rules stand here: the index
        may lie on this device or on the CPU, and one of truth values has to be counted."""
        found = _ACTIVE[-1].wrapped(self.numbers[_index(index)])
        return found

    def __setitem__(self, index: Any, value: Any) -> None:
        found = self[index]
        if any(isinstance(one, (list, Tensor)) for one in (index if isinstance(index, tuple) else (index,))):
            assert not isinstance(value, Tensor) or isinstance(value, OnDevice) or not value.dim(), "another device."
            self.numbers[_index(index)] = _numbers(value)
        elif isinstance(value, Tensor):
            found.copy_(value)
        else:
            found.fill_(value)

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise AssertionError(f"{func} met a tensor of the device outside of `fake_cuda`.")


class FakeDevice(TorchDispatchMode):
    """Carries every operation out twice, as above."""

    def __init__(self, shapes: FakeTensorMode) -> None:
        super().__init__()
        self._shapes = shapes
        self.asked: list[str] = []
        """the functions of the package that waited for the device, innermost first, as "module.function" """

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        given = {id(one.numbers): one for one in tree_leaves((args, kwargs)) if isinstance(one, OnDevice)}
        with _disable_current_modes():
            if not given and CUDA.type not in map(_kind, tree_leaves((args, kwargs))):
                return func(*args, **kwargs)
            here = func(*tree_map(_numbers, args), **tree_map(_numbers, kwargs))
        if func in ASKS:
            self.waited()
            return self.wrapped(here) if isinstance(here, Tensor) else here
        there = func(*tree_map(self._shape, args), **tree_map(self._shape, kwargs))
        return self._joined(there, here, given)

    def _joined(self, there: Any, here: Any, given: dict[int, OnDevice]) -> Any:
        if isinstance(here, (list, tuple)):
            both = zip(there, here, strict=True)
            return type(here)(self._joined(shape, numbers, given) for shape, numbers in both)
        if not isinstance(here, Tensor):
            return here
        if there.device.type == "cuda":
            # an operation in place gives back what it was given
            return given[id(here)] if id(here) in given else self._wrapped(there, here)
        if given:  # it left the device
            self.waited()
            with _disable_current_modes():
                return here.clone()
        return here

    def wrapped(self, here: Tensor) -> OnDevice:
        """A tensor of the device with these numbers."""
        return OnDevice(self._outline(here, CUDA), here)

    def _wrapped(self, there: Tensor, here: Tensor) -> OnDevice:
        assert there.shape == here.shape, f"the device would give {there.shape}, but the numbers are {here.shape}."
        return OnDevice(there, here)

    def _shape(self, given: Any) -> Any:
        if isinstance(given, OnDevice):
            return given.shape_there
        if _kind(given) == CUDA.type:
            return CUDA  # "cuda" alone would ask which device is the current one
        return self._outline(given, given.device) if isinstance(given, Tensor) else given

    def _outline(self, given: Tensor, device: torch.device) -> Tensor:
        with _disable_current_modes(), self._shapes:
            return torch.empty_strided(given.shape, given.stride(), dtype=given.dtype, device=device)

    def waited(self) -> None:
        """Note who waits."""
        frame: Any = sys._getframe()
        names = []
        while frame is not None:
            module = frame.f_globals.get("__name__", "")
            if module.startswith("specviz."):
                names.append(f"{module.removeprefix('specviz.')}.{frame.f_code.co_name}")
            frame = frame.f_back
        self.asked.append(" < ".join(names))

    def waits(self) -> Counter[str]:
        """How often each innermost function waited for the device since the last question."""
        found = Counter(line.partition(" < ")[0] for line in self.asked)
        self.asked.clear()
        return found


_ACTIVE: list[FakeDevice] = []


def _numbers(given: Any) -> Any:
    if isinstance(given, OnDevice):
        return given.numbers
    return torch.device("cpu") if isinstance(given, torch.device) else given


def _index(given: Any) -> Any:
    if isinstance(given, OnDevice) and given.dtype == torch.bool:
        _ACTIVE[-1].waited()
    return tuple(map(_index, given)) if isinstance(given, tuple) else _numbers(given)


def _kind(given: Any) -> str:
    return given.type if isinstance(given, torch.device) else ""


@contextmanager
def fake_cuda(monkeypatch: Any) -> Iterator[FakeDevice]:
    """The device is there inside; `torch.cuda.synchronize` has nothing to wait for."""
    monkeypatch.setattr(torch.cuda, "synchronize", lambda device=None: None)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device=None: "a device that is not there")
    # Gradients would be asked of a real device.
    with torch.inference_mode(), FakeTensorMode(allow_non_fake_inputs=True) as shapes, FakeDevice(shapes) as device:
        _ACTIVE.append(device)
        overwrites = torch.__future__.get_overwrite_module_params_on_conversion()
        torch.__future__.set_overwrite_module_params_on_conversion(True)  # or a module's weights lose their class
        try:
            yield device
        finally:
            torch.__future__.set_overwrite_module_params_on_conversion(overwrites)
            _ACTIVE.pop()
