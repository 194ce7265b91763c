"""A pass of the lean forward over a few rows by one compiled call: what decoding and judging do all the time.

    weights as they lie ─► structs of pointers ─► `few_rows.c` ─► residual stream, cache, logits

As fast as memory gives the weights, in float32 and in bfloat16, and nearly the same time for 1 to 16 rows: a product by
torch costs more with every row, and between products a small model waits for calls. What leaves it is float32. A
float32 model whose checkpoint holds bfloat16 is read as it is stored: the same numbers from half the bytes. The rows of
`forward_texts` are those of several texts, each in a cache of its own (`batch`): no row's numbers depend on the others.
Drafters' blocks run by it too (`run_states` and chains of it by `write_states`, and `fill` after
`read_context`).
Products and attention are shared by as many threads as torch has (`team.h`). Used on the CPU where a compiler is at
hand; the plain forward does the same without it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from specviz.core.compiled import library
from specviz.core.draws import Chooser, room_of
from specviz.lm.base import Chain
from specviz.lm.pages import shared_cache
from specviz.lm.products import FORMATS, MOST_ROWS, Matrix, matrix, most_rows, pointer, whole

if TYPE_CHECKING:
    from specviz.lm.kernels import Projection
    from specviz.lm.llama.rows import Layer, Norm
    from specviz.lm.llama.shape import LlamaShape
    from specviz.lm.rows import Mask, Placement

SOURCE = Path(__file__).with_name("few_rows.c")
SHARED = shared_cache()
FAR = range(SHARED // 2, 2 * SHARED)
"""bytes of weights of which a processor's cache keeps a part from pass to pass, as measured at 32 MB: there a drafter's
7 MB stay, of SmolLM2's 269 nothing does, and both lost by asking"""
ATTENTION, MLP = 1, 2
"""what is run of a layer: either, both (3) or neither (0)"""


class _Layer(ctypes.Structure):
    _fields_ = (
        *((name, Matrix) for name in ("qkv", "output", "gate_up", "down")),
        *((name, pointer) for name in ("attention_norm", "ffn_norm", "head_norms")),
    )


class _Context(ctypes.Structure):
    _fields_ = (("fuse", Matrix), ("keys_values", Matrix), ("norm", pointer))


class Join(ctypes.Structure):
    """As `few_rows.c` has it."""

    _fields_ = (
        *((name, Matrix) for name in ("head", "state", "picks", "up", "beside")),
        *((name, pointer) for name in ("words", "word_norm", "state_norm", "norm", "known")),
        *((name, whole) for name in ("half_words", "vocab")),
    )


class _Watch(ctypes.Structure):
    _fields_ = (("depths", ctypes.POINTER(whole)), ("count", whole), ("states", pointer), ("norm", pointer))


class _Model(ctypes.Structure):
    _fields_ = (
        ("layers", pointer),
        ("head", Matrix),
        ("norm", pointer),
        ("turns", pointer),
        ("table", pointer),
        *((name, whole) for name in ("half_table", "count", "hidden", "heads", "groups", "size", "ffn", "half_rows")),
        ("eps", ctypes.c_float),
        ("threads", whole),
    )


class _Share(ctypes.Structure):
    _fields_ = (
        ("rows", pointer),
        *((name, whole) for name in ("layer", "head", "room", "start", "n", "wanted")),
        ("tokens", ctypes.POINTER(whole)),
        ("positions", ctypes.POINTER(whole)),
        ("visible", ctypes.c_char_p),
    )


NOTHING = ctypes.byref(_Watch())
"""is watched"""
ONE = whole(1)


class Seat:
    """Where passes meet one cache: what they are told about it, written into the same struct each time. Weights drive
    everything else out of the processor's cache, and an object made anew there costs 0.01 to 0.02 ms."""

    def __init__(self, cached: Tensor) -> None:
        """cached [layers, 2 * G, rows, D], with room for the new rows."""
        self.cached, self.room = cached, cached.shape[2]
        self._tokens, self._positions = (whole * MOST_ROWS)(), (whole * MOST_ROWS)()
        lies = cached.data_ptr(), cached.stride(0), cached.stride(1), self.room
        self.share = _Share(*lies, tokens=self._tokens, positions=self._positions)
        self.at = ctypes.byref(self.share)
        self.chosen, self.seconds = (whole * MOST_ROWS)(), (ctypes.c_double * MOST_ROWS)()
        """what a chain of up to so many steps leaves: its tokens, and how long each pass took"""

    def behind(self, start: int, n: int, wanted: int = 0) -> Seat:
        """A chain of n rows behind the first `start`, of which the last `wanted` are read out."""
        share = self.share
        share.start, share.n, share.wanted, share.visible = start, n, wanted, None
        return self

    def reading(self, tokens: Sequence[int]) -> Seat:
        """The rows are those of these tokens [n]."""
        self._tokens[: len(tokens)] = [*tokens]
        return self

    def seeing(self, positions: Sequence[int], visible: Mask) -> Seat:
        """The rows stand at these positions [n] and see these rows [n, start + n]."""
        self._positions[: len(positions)] = [*positions]
        self.share.visible = visible.tobytes()
        return self

    def holding(self, placement: Placement, wanted: int = 0) -> Seat:
        """Rows that stand so."""
        self.behind(placement.start, len(placement.tokens), wanted).reading(placement.tokens)
        return self if placement.visible is None else self.seeing(placement.positions, placement.visible)


class TextRows(NamedTuple):
    """What one text asks of a pass."""

    seat: Seat
    placement: Placement
    wanted: int
    """its last so many rows are read out"""


class FewRows:
    """The compiled pass over one model's weights, which it keeps alive and does not copy."""

    def __init__(
        self,
        compiled: ctypes.CDLL,
        shape: LlamaShape,
        layers: Sequence[Layer],
        turns: Tensor,
        read_out: tuple[Norm, Projection] | None,
    ) -> None:
        self._compiled, self._forward, self._write_chain = compiled, compiled.forward, compiled.write_chain
        self._held: list[Tensor] = []
        """what the structs point into"""
        projections = [*_projections(layers), *(read_out or ())[1:]]
        self.as_stored = all(projection.short is not None for projection in projections)
        """whether float32 numbers are multiplied by bfloat16 weights"""
        self._layers = (_Layer * len(layers))(*map(self._layer, layers))
        self._model = _Model(
            layers=ctypes.cast(self._layers, pointer),
            head=self._matrix(read_out[1]) if read_out else Matrix(),
            norm=self._factor(*read_out) if read_out else None,
            turns=self._hold(turns),
            count=len(layers),
            hidden=shape.hidden_size,
            heads=shape.heads,
            groups=shape.kv_heads,
            size=shape.head_size,
            ffn=shape.ffn_size,
            half_rows=projections[0].weight.dtype == torch.bfloat16,
            eps=shape.norm_eps,
        )
        self._note_distance()
        self._outs = self._model.head.outs
        self._last_norm = self._hold(read_out[0].weight.float()) if read_out else None
        self._table: Tensor | None = None
        self.looks_up = False
        """whether `forward` and `write_chain` have a table of embeddings that they can take"""
        self._model_at = ctypes.byref(self._model)
        half = all(projection.short or projection.weight.dtype == torch.bfloat16 for projection in projections)
        self.most = most_rows(compiled, half)
        """rows of a pass that it takes"""

    @classmethod
    def of(
        cls, shape: LlamaShape, layers: Sequence[Layer], turns: Tensor, read_out: tuple[Norm, Projection] | None = None
    ) -> FewRows | None:
        """None where the weights are not on the CPU, in another format, or there is no compiler. `turns` complex
        [context, 1, D / 2]; `read_out`: final norm and head, for `forward` and `read_out`."""
        weight = layers[0].output.weight
        if weight.device.type != "cpu" or weight.dtype not in FORMATS:
            return None
        compiled = library(SOURCE)
        return None if compiled is None else cls(compiled, shape, layers, turns, read_out)

    def takes(self, n: int) -> bool:
        """Whether a pass over so many rows is one for it."""
        return n <= self.most

    def look_up_in(self, table: Tensor) -> None:
        """Have `forward` and `write_chain` take embeddings from this table [V, hidden]: as it is, so only where none of
        its numbers need be rounded."""
        half = table.dtype == torch.bfloat16
        self.looks_up = half or (table.dtype == torch.float32 and not self._model.half_rows)
        self._table = table  # which the struct points to
        self._model.table, self._model.half_table = table.data_ptr(), half

    @property
    def _at(self) -> object:
        """Where the model is, for a call on as many threads as torch has by now."""
        self._model.threads = torch.get_num_threads()
        return self._model_at

    @property
    def at_once(self) -> int:
        """Rows up to which `forward` and `write_chain` take a pass; 0 where they look nothing up."""
        return self.most if self.looks_up else 0

    def forward(
        self, seat: Seat, placement: Placement, wanted: int, depths: Sequence[int] = ()
    ) -> tuple[Tensor, Tensor | None]:
        """Logits [wanted, V] of the last rows of a text: embeddings, all blocks, norm and head.
        Beside them what is seen at these depths [n, len(depths), hidden], where there are any: the residual stream,
        behind the last layer normed."""
        n = len(placement.tokens)
        states = torch.empty(n, len(depths), self._model.hidden) if depths else None
        watch = NOTHING if states is None else self._watch(depths, states)
        logits, to = self._logits(wanted)
        if self._forward(self._at, seat.holding(placement, wanted).at, ONE, watch, to):
            _check(1, n)
        return logits, states

    def forward_texts(self, texts: Sequence[TextRows]) -> Tensor:
        """Logits [wanted of all texts, V] of the rows of one text after another."""
        shares = [text.seat.holding(text.placement, text.wanted).share for text in texts]
        logits, to = self._logits(sum(text.wanted for text in texts))
        failed = self._forward(self._at, (_Share * len(texts))(*shares), whole(len(texts)), NOTHING, to)
        _check(failed, sum(share.n for share in shares))
        return logits

    def _logits(self, wanted: int) -> tuple[Tensor, ctypes.c_void_p]:
        """Room for logits [wanted, V], and where it is."""
        if wanted == 1:
            room = room_of(1, self._outs)
            return room.whole, pointer(room.at)
        logits = torch.empty(wanted, self._outs)
        return logits, pointer(logits.data_ptr())

    def write_chain(self, seat: Seat, start: int, tokens: Sequence[int], chooser: Chooser) -> Chain:
        """Passes one after the other behind `start` rows: over `tokens`, then over each token that `chooser` took."""
        given = self._at, seat.behind(start, len(tokens), wanted=1).reading(tokens).at
        return _chain(self._write_chain, given, seat, self._outs, chooser)

    def write_states(
        self, join: Join, seat: Seat, start: int, tokens: Sequence[int], states: Tensor, chooser: Chooser
    ) -> Chain:
        """`run_states` and `read_states` one after the other, as in `write_chain`: over `tokens` with the states
        [n, hidden] before them, then over each token that `chooser` took with the state there."""
        states = states.to(torch.float32).contiguous()
        rows = seat.behind(start, len(tokens)).reading(tokens).at
        given = self._at, ctypes.byref(join), rows, pointer(states.data_ptr())
        return _chain(self._compiled.write_states, given, seat, join.vocab, chooser)

    def run_states(self, join: Join, states: Tensor, seat: Seat, placement: Placement) -> Tensor:
        """The first block alone, over rows of tokens and the states before them [n, hidden]: [n, outputs of its last
        product], the states that follow before anything else."""
        states = states.to(torch.float32).contiguous()
        outputs, rows = torch.empty(len(states), self._layers[0].down.outs), seat.holding(placement).at
        given = pointer(states.data_ptr()), pointer(outputs.data_ptr())
        _check(self._compiled.run_states(self._at, ctypes.byref(join), rows, *given), len(states))
        return outputs

    def read_states(self, join: Join, outputs: Tensor) -> Tensor:
        """What follows outputs of `run_states`: logits float32 [n, V]; minus infinity for tokens that the head does not
        know."""
        outputs, n = outputs.to(torch.float32).contiguous(), len(outputs)
        logits = torch.empty(n, join.vocab)
        given = pointer(outputs.data_ptr()), whole(n), pointer(logits.data_ptr())
        _check(self._compiled.read_states(self._at, ctypes.byref(join), *given), n)
        return logits

    def run(self, x: Tensor, chosen: bytes, seat: Seat, placement: Placement) -> Tensor:
        """The residual stream [n, hidden] after the blocks that `chosen` names, one byte for each layer; their keys and
        values are then in the seat's cache."""
        x = x.to(torch.float32, copy=True).contiguous()
        failed = self._compiled.run_blocks(self._at, seat.holding(placement).at, chosen, pointer(x.data_ptr()))
        _check(failed, len(x))
        return x

    def fill(
        self,
        words: Tensor,
        seat: Seat,
        start: int,
        positions: Sequence[int],
        visible: Mask,
        wanted: tuple[int, int],
    ) -> tuple[Tensor, Tensor]:
        """A drafter's block behind `start` rows: words of its rows [n, hidden], which may be written over, through all
        blocks and the final norm.
        wanted (first, count): states [n - first, hidden] of the rows from the first on, and of the first `count` of
        those logits [count, outs]."""
        first, count = wanted
        x = words.to(torch.float32).contiguous()
        logits = torch.empty(count, self._model.head.outs)
        failed = self._compiled.fill_block(
            self._at,
            seat.behind(start, len(x)).seeing(positions, visible).at,
            pointer(x.data_ptr()),
            whole(first),
            whole(count),
            pointer(logits.data_ptr()),
        )
        _check(failed, len(x))
        return x[first:], logits

    def context_of(self, fuse: Projection, norm: Norm, keys_values: Projection) -> _Context:
        """For `read_context`: what makes keys and values of all layers of what is fused."""
        return _Context(self._matrix(fuse), self._matrix(keys_values), self._factor(norm, keys_values))

    def read_context(self, context: _Context, features: Tensor, seat: Seat, start: int) -> None:
        """Put keys and values of the target's states [n, what `fuse` reads] of the tokens from `start` on into the
        seat's cache."""
        features = features.to(torch.float32).contiguous()
        rows, at = seat.behind(start, len(features)).at, pointer(features.data_ptr())
        failed = self._compiled.read_context(self._at, ctypes.byref(context), rows, at)
        _check(failed, len(features))

    def read_out(self, x: Tensor) -> Tensor:
        """Final norm and head: x [n, hidden] → logits float32 [n, V]."""
        x = x.to(torch.float32).contiguous()
        logits = x.new_empty(len(x), self._model.head.outs)
        failed = self._compiled.read_out(self._at, pointer(x.data_ptr()), whole(len(x)), pointer(logits.data_ptr()))
        _check(failed, len(x))
        return logits

    def _note_distance(self) -> None:
        """Tell each matrix whether the cache keeps a part of what a pass reads."""
        matrices = [getattr(layer, name) for layer in self._layers for name in ("qkv", "output", "gate_up", "down")]
        matrices.append(self._model.head)
        far = sum(at.outs * at.ins * (2 if at.half else 4) for at in matrices) in FAR
        for at in matrices:
            at.far = far

    def _watch(self, depths: Sequence[int], states: Tensor) -> object:
        return ctypes.byref(_Watch((whole * len(depths))(*depths), len(depths), states.data_ptr(), self._last_norm))

    def _layer(self, layer: Layer) -> _Layer:
        return _Layer(
            *map(self._matrix, (layer.qkv, layer.output, layer.gate_up, layer.down)),
            self._factor(layer.attention_norm, layer.qkv),
            self._factor(layer.ffn_norm, layer.gate_up),
            None if layer.head_norms is None else self._hold(layer.head_norms.float()),
        )

    def _matrix(self, projection: Projection) -> Matrix:
        return matrix(projection.weight, projection.bias, projection.short, self._held)

    def _factor(self, norm: Norm, behind: Projection) -> int | None:
        """None where the projection behind it has taken it in, as it is read."""
        return None if norm.absorbed and behind.short is None else self._hold(norm.weight.float())

    def _hold(self, tensor: Tensor) -> int:
        self._held.append(tensor.contiguous())
        return self._held[-1].data_ptr()


def _projections(layers: Sequence[Layer]) -> Iterator[Projection]:
    for layer in layers:
        yield from (layer.qkv, layer.output, layer.gate_up, layer.down)


def _chain(write: Callable[..., int], given: tuple[object, ...], seat: Seat, vocab: int, chooser: Chooser) -> Chain:
    """What a compiled loop wrote behind a seat's rows, which takes what is `given` and what every such loop takes."""
    steps, chosen, seconds = chooser.steps, seat.chosen, seat.seconds
    assert steps <= MOST_ROWS, f"a chain has up to {MOST_ROWS} steps."
    room = room_of(steps, vocab)
    if write(*given, whole(steps), chooser.function, chooser.how(vocab), pointer(room.at), chosen, seconds):
        _check(1, seat.share.n)
    return Chain(chosen[:steps], room.whole, seconds[:steps])


def _check(failed: int, n: int) -> None:
    if failed:
        raise MemoryError(f"no memory for a pass over {n} rows.")
