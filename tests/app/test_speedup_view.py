"""What the When-it-pays tab makes of points: which texts and temperatures its numbers and charts are about."""

from __future__ import annotations

from specviz.app.speedup.view import drawn, drawn_note, speedup_view
from tests.app.lab.sweeps import drafted, plain


def test_of_many_settings_at_several_temperatures_the_lowest_is_drawn_and_the_page_says_so() -> None:
    few = [drafted(label=f"d{number}", temperature=heat) for number in range(5) for heat in (0.8, 0.0)]
    assert (len(drawn(few)), drawn_note(few)) == (10, "")
    many = [drafted(label=f"d{number}", temperature=heat) for number in range(30) for heat in (0.8, 0.0)]
    assert {one.temperature for one in drawn(many)} == {0.0}
    assert drawn_note(many) == " The charts show temperature 0; the table has all."
    assert drawn_note(many[1::2]) == "", "one temperature alone is drawn whole"
    assert len(drawn(many[1::2])) == 30


def test_texts_that_repeat_themselves_are_left_out_and_counted() -> None:
    view = speedup_view([plain(), drafted(), plain(prompt="b"), drafted(prompt="b", repetition=0.6, ratio=9.0)])
    assert [row.ratio.value for row in view.rows if row.drafter == "model"] == [drafted().ratio]
    assert view.verdict.endswith("Left out, with more than 25% of their 4-grams repeated: 1 text.")
