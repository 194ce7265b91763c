"""What the command hands to every study: models as the flags say."""

from argparse import Namespace
from contextlib import nullcontext
from typing import Any

from specviz.studies.study import Workplace


def workplace(**flags: object) -> Workplace:
    """Loads no model, but says which and how."""

    def load(name: str, **how: object) -> Any:
        return name, how

    def source() -> Any:
        raise AssertionError("no run is asked for.")

    said = dict.fromkeys(("say", "show", "row"), print)
    limits = {"progress": lambda items, what, total: items, "time_limit": lambda minutes: nullcontext(lambda: False)}
    return Workplace(Namespace(**flags), load, source, **said, **limits)


def test_a_pair_is_loaded_on_the_device_and_in_the_number_format_of_the_flags() -> None:
    flags = {"target": "large", "drafter_model": "small", "device": "cuda", "dtype": "bfloat16"}
    how = {"device": "cuda", "dtype": "bfloat16"}
    assert workplace(**flags).pair() == (("large", how), ("small", how))


def test_without_such_flags_a_model_is_on_the_cpu_in_float32() -> None:
    assert workplace(work_dir="texts").model("target") == ("target", {"device": "cpu", "dtype": "float32"})
