"""What transformers calls the keys and values of the text so far: `cache` since 5.24, `past_key_values` before.

Place in the flow: whoever calls a transformers model itself asks here for the name of the argument, and for what came
back. It imports no transformers.
"""

import inspect
from collections.abc import Mapping
from typing import Any

NAMES = ("cache", "past_key_values")
"""newest first"""


def cache_argument(model: Any) -> str:
    """The name under which this model's forward takes its cache; its class is asked too, for what stands around a
    forward may hide its parameters."""
    known = [inspect.signature(forward).parameters for forward in (model.forward, type(model).forward)]
    return next((name for name in NAMES for parameters in known if name in parameters), NAMES[-1])


def given_cache(arguments: Mapping[str, Any]) -> Any:
    """The cache among the keyword arguments of a call, None where there is none."""
    return next((arguments[name] for name in NAMES if name in arguments), None)


def returned_cache(output: Any) -> Any:
    """The cache in what a model returned, None where there is none."""
    return next((getattr(output, name) for name in NAMES if hasattr(output, name)), None)
