"""The measured speedup, which every table divides in one place."""

from specviz.theory.speedup import speed_ratio


def test_a_speedup_is_tokens_per_second_over_those_of_plain_decoding() -> None:
    assert speed_ratio(6.0, 3.0) == 2.0
    assert speed_ratio(3.0, 6.0) == 0.5


def test_without_a_speed_of_plain_decoding_there_is_none() -> None:
    assert speed_ratio(6.0, 0.0) is None
