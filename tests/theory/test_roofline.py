"""Step-time curves: the roofline by hand, the knee, and reading a curve at one context and batch."""

from dataclasses import replace

import pytest

from specviz.errors import OptionError
from specviz.protocol.profiles import dumps
from specviz.theory import roofline as hardware
from specviz.theory.roofline import Roofline, knee, overhead, passes, roofline, settings, step_times
from tests.curves import MODEL, STEPS, hardware_curve


def test_cached_bytes_are_keys_and_values_of_every_layer() -> None:
    """2 (keys, values) × 2 layers × 3 wide × 10 rows × 4 bytes."""
    assert hardware.cached_bytes(MODEL, 10) == 480


def test_weights_are_counted_as_they_are_read_and_cached_rows_as_they_are_kept() -> None:
    """100 numbers of 2 bytes where the checkpoint stores them so; with 480 bytes of cached rows at 88 bytes/s."""
    curve = hardware_curve()
    short = replace(curve, model=replace(MODEL, stored_bytes=2))
    assert (MODEL.weight_bytes, short.model.weight_bytes) == (400, 200)
    assert roofline(short, context=10).reading_s == pytest.approx(680 / 88)


def test_a_row_multiplies_every_weight_and_attends_in_every_layer() -> None:
    """2 × 100 weights + 4 × 2 layers × 5 wide × 10 rows."""
    assert hardware.row_flops(MODEL, 10) == 600


def test_a_pass_takes_as_long_as_reading_until_multiplying_takes_longer() -> None:
    """(400 + 480) bytes at 88/s are 10 s; a row of 600 operations at 240/s is 2.5 s: the ridge is at 4 rows."""
    line = roofline(hardware_curve(), context=10)
    assert [line.at(n) for n in (1, 4, 5, 8)] == [10.0, 10.0, 12.5, 20.0]
    assert line.ridge == 4.0


def test_a_batch_reads_the_weights_once_and_every_cache() -> None:
    """400 + 3 × 480 bytes; 3 × 600 operations a row."""
    line = roofline(hardware_curve(batch=3), context=10, batch=3)
    assert (line.bytes_read, line.flops_per_row) == (1840, 1800)


def test_overhead_lifts_the_line_to_the_narrowest_pass() -> None:
    curve = hardware_curve()
    bare = roofline(curve, 10)
    assert overhead(passes(curve, 10), bare) == 2.0
    assert roofline(curve, 10, overhead_s=2.0).at(1) == 12.0


def test_a_pass_faster_than_the_line_has_no_overhead() -> None:
    """Weights that stay in the processor's caches are read faster than memory gives them."""
    curve = hardware_curve({1: 9.0, 2: 9.5})
    assert overhead(passes(curve), roofline(curve, 10)) == 0.0


def test_the_knee_is_the_widest_pass_within_a_tenth_of_the_narrowest() -> None:
    assert knee(passes(hardware_curve())).n == 4


def test_a_dearer_pass_below_the_knee_does_not_hide_it() -> None:
    """Two rows may run on another matrix kernel than one or four."""
    assert knee(passes(hardware_curve({1: 10.0, 2: 15.0, 4: 10.5}))).n == 4


def test_step_times_are_those_of_the_chosen_context_and_batch() -> None:
    short, long = hardware_curve(), hardware_curve({1: 30.0, 8: 31.0}, context=50)
    curve = replace(short, rows=short.rows + long.rows)
    assert settings(curve) == ((10, 1), (50, 1))
    assert step_times(curve).seconds == tuple(STEPS.values())
    assert step_times(curve, 50).at(1) == 30.0


@pytest.mark.parametrize(("context", "batch"), [(11, 1), (10, 8), (None, 8)])
def test_a_setting_that_was_not_measured_is_refused_with_those_that_were(context: int | None, batch: int) -> None:
    with pytest.raises(OptionError, match=r"choose from: context 10, batch 1\."):
        step_times(hardware_curve(), context, batch)


def test_shipped_curves_are_found_by_file_name(tmp_path) -> None:
    (tmp_path / "box-b.json").write_text(dumps(hardware_curve(name="b")), encoding="utf-8")
    (tmp_path / "box-a.json").write_text(dumps(hardware_curve(name="a")), encoding="utf-8")
    assert {name: one.name for name, one in hardware.curves(tmp_path).items()} == {"box-a": "a", "box-b": "b"}


def test_nothing_read_and_nothing_multiplied_is_overhead_alone() -> None:
    assert Roofline(0.0, 0.0, 1.0, 1.0, 0.5).at(3) == 0.5
