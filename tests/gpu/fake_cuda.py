"""A CUDA device that is not there: tensors that say they lie on one, with the numbers that a CPU works out for them.

    operation ─► where its tensors lie: of two devices they are refused as CUDA does
              └► the same on the CPU: its numbers

So the engine runs whole, down to the last token, on a machine without a device, and two kinds of mistake show: a tensor
that was made in the wrong place, and a question for which the processor must wait until the device has answered. Those
are counted by where in the engine they were asked.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

aten = torch.ops.aten
CUDA = torch.device("cuda", 0)
ASKS = {aten.item.default, aten.where.default, aten.argwhere.default, aten.nonzero_numpy.default}
"""operations whose result the processor has to see though torch has no mark on them"""
SEEN = {torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape}
"""torch's marks of those that it has"""
INDEXED = {aten.index.Tensor, aten.index_put.default, aten.index_put_.default, aten._index_put_impl_.default}
"""their index may lie on the CPU, and one of truth values has to be counted"""
LOOKS = {aten._has_compatible_shallow_copy_type.default}
"""looks at two tensors, wherever they are"""
numbers_only = torch._C._DisableTorchDispatch
"""no operation inside comes here"""


class OnDevice(Tensor):
    """A tensor on the device."""

    __torch_function__ = torch._C._disabled_torch_function_impl
    numbers: Tensor
    """on the CPU"""

    @staticmethod
    def __new__(cls, numbers: Tensor) -> OnDevice:
        made: OnDevice = Tensor._make_wrapper_subclass(
            cls, numbers.shape, strides=numbers.stride(), dtype=numbers.dtype, device=CUDA
        )
        made.numbers = numbers
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

    def contiguous(self, **kwargs: Any) -> Tensor:
        found: Tensor = aten.contiguous.default(self, **kwargs)
        return found

    def __invert__(self) -> Tensor:
        found: Tensor = aten.bitwise_not.default(self)
        return found

    def nonzero(self) -> Tensor:
        found: Tensor = aten.nonzero.default(self)
        return found

    def detach(self) -> Tensor:
        return OnDevice(self.numbers)

    def copy_(self, other: Tensor, non_blocking: bool = False) -> Tensor:
        found: Tensor = aten.copy_.default(self, other, non_blocking)
        return found

    def __getitem__(self, index: Any) -> Any:
        """A build of torch without CUDA cannot pass an index on to a device, so that its rules stand here: the index
        may lie on this device or on the CPU, and one of truth values has to be counted."""
        return OnDevice(self.numbers[_index(index)])

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
    """Carries every operation out on the CPU, and says where its result lies."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []
        """the functions of the package that waited for the device, innermost first, as "module.function" """

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        given = {id(one.numbers): one for one in _tensors((args, *kwargs.values())) if isinstance(one, OnDevice)}
        there = _lies_there(func, args, kwargs, bool(given))
        with numbers_only():
            here = func(*map(_numbers, args), **{name: _numbers(value) for name, value in kwargs.items()})
        if not given:
            return _each(here, OnDevice) if there else here
        if _is_seen(func, args):
            self.waited()
        elif not there:  # it left the device
            self.waited()
            with numbers_only():
                return here.clone()
        # an operation in place gives back what it was given
        return _each(here, lambda one: given[id(one)] if id(one) in given else OnDevice(one)) if there else here

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


def _tensors(given: Any) -> Iterator[Tensor]:
    """Those in it, and in the lists in it."""
    for one in given:
        if isinstance(one, Tensor):
            yield one
        elif isinstance(one, (list, tuple)):
            yield from _tensors(one)


def _each(given: Any, change: Callable[[Tensor], Any]) -> Any:
    """With every tensor in it changed."""
    if isinstance(given, (list, tuple)):
        return type(given)(_each(one, change) for one in given)
    return change(given) if isinstance(given, Tensor) else given


def _numbers(given: Any) -> Any:
    if isinstance(given, torch.device):
        return torch.device("cpu") if given.type == CUDA.type else given
    return _each(given, lambda one: one.numbers if isinstance(one, OnDevice) else one)


def _lies_there(func: Any, args: Any, kwargs: Any, given: bool) -> bool:
    """Whether the result lies on the device; `given`: whether something there goes in. Raises RuntimeError, as CUDA
    does, for a tensor of the CPU beside one of the device, unless it is a single number."""
    for named in (*args, *kwargs.values()):
        if isinstance(named, torch.device):
            return named.type == CUDA.type
    if not given:
        return False
    if func in LOOKS:
        return True
    if func is aten.copy_.default:
        return isinstance(args[0], OnDevice)
    beside = (args[0], *args[2:]) if func in INDEXED else args
    for one in _tensors((beside, *kwargs.values())):
        if not isinstance(one, OnDevice) and one.dim():
            raise RuntimeError(f"{func} was given tensors of two devices, {CUDA} and {one.device}.")
    return True


def _is_seen(func: Any, args: Any) -> bool:
    """Whether the processor must see the device's answer before it goes on."""
    if func in INDEXED:
        return any(one.dtype == torch.bool for one in _tensors((args[1],)))
    return func in ASKS or not SEEN.isdisjoint(func.tags)


def _index(given: Any) -> Any:
    if isinstance(given, OnDevice) and given.dtype == torch.bool:
        _ACTIVE[-1].waited()
    return tuple(map(_index, given)) if isinstance(given, tuple) else _numbers(given)


@contextmanager
def fake_cuda(monkeypatch: Any) -> Iterator[FakeDevice]:
    """The device is there inside; `torch.cuda.synchronize` has nothing to wait for."""
    monkeypatch.setattr(torch.cuda, "synchronize", lambda device=None: None)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device=None: "a device that is not there")
    # Gradients would be asked of a real device, and without FakeTensorMode torch would look for one.
    with torch.inference_mode(), FakeTensorMode(allow_non_fake_inputs=True), FakeDevice() as device:
        _ACTIVE.append(device)
        overwrites = torch.__future__.get_overwrite_module_params_on_conversion()
        torch.__future__.set_overwrite_module_params_on_conversion(True)  # or a module's weights lose their class
        try:
            yield device
        finally:
            torch.__future__.set_overwrite_module_params_on_conversion(overwrites)
            _ACTIVE.pop()
