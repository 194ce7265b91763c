"""A step-time curve with small round numbers: 880 bytes a pass at 88 bytes/s, 600 operations a row at 240 a second."""

from collections.abc import Mapping

from specviz.protocol.profiles import Ceiling, HardwareCurve, ModelSizes, PassTime
from specviz.trace.header import Machine

MACHINE = Machine("cpu", "float32", 1, 2, "Some CPU", "3.11.7", "2.13.0", "5.23.0", "Linux")
MODEL = ModelSizes(
    name="toy", weights_sha256="ab" * 32, parameters=120, read_parameters=100, number_bytes=4, layers=2,
    hidden_size=6, attention_size=5, kv_size=3, vocab_size=8, context_length=64,
)  # fmt: skip
STEPS = {1: 12.0, 2: 12.6, 4: 13.0, 8: 20.0, 16: 40.0}
"""n → seconds: 4 is the widest pass within a tenth of 12"""


def hardware_curve(
    steps: Mapping[int, float] = STEPS, context: int = 10, batch: int = 1, name: str = "toy box"
) -> HardwareCurve:
    """One setting; quartiles a second to either side."""
    return HardwareCurve(
        name=name, machine=MACHINE, model=MODEL, way="engine", cuda_graphs=False, clock="wall",
        reading=Ceiling(88.0, 80.0, 90.0, "a sum"), arithmetic=Ceiling(240.0, 230.0, 250.0, "a product"),
        rows=tuple(PassTime(n, context, batch, s, s - 1, s + 1, 9) for n, s in steps.items()),
        created="2026-01-02T03:04:05Z", command="specviz profile", specviz="0.1",
    )  # fmt: skip
