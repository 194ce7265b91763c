"""Step-time curves measured on the very models that runs use, in their lane."""

from __future__ import annotations

from collections.abc import Iterator

from specviz.bench.profile.measure import profile
from specviz.engine.decode import Cancelled
from specviz.live.models import Models
from specviz.lm.load import LoadedModel
from specviz.protocol.profiles import Profiled, ProfileRequest
from specviz.protocol.runs import RunRequest


def profiled(models: Models, request: ProfileRequest, cancelled: Cancelled) -> Iterator[Profiled]:
    """See `Profiles.profile`."""

    def loaded(name: str, device: str, dtype: str) -> LoadedModel:
        return models.get(name, RunRequest(prompt="", device=device, dtype=dtype))

    yield from profile(request, loaded, cancelled, models.lane)
