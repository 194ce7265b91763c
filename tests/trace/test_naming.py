"""A model's name beside its role."""

from specviz.trace.header import in_role


def test_a_model_that_is_called_like_its_role_is_not_named_twice() -> None:
    assert in_role("target", "target") == "target"
    assert in_role("drafter", "drafter-weak") == "drafter drafter-weak"
