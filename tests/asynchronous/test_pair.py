"""Two real processes on tiny checkpoints: the text of plain decoding, also where the drafter's process is killed."""

from multiprocessing.shared_memory import SharedMemory
from threading import Timer

import pytest
import torch

from specviz.asynchronous.board import NONE_YET, SharedBoard, Size
from specviz.asynchronous.machines import Draft, Likeliest
from specviz.asynchronous.process import AsyncPair, Job
from specviz.asynchronous.side import Drawer, Draws, Reader, Speaker
from specviz.core.randomness import SeededRandom
from specviz.core.sampling import Sampling
from specviz.errors import ModelError
from specviz.lm.load import load
from specviz.lm.place import Origin
from tests.asynchronous.processes import children, left_over

PROMPT, LENGTH = (3, 1, 4), 30


def never(token: int) -> bool:
    return False


def speaker(model, temperature: float, seed: int) -> Speaker:
    return Speaker(model, Draws(Sampling(temperature), SeededRandom(seed)))


def plain(model, temperature: float, seed: int) -> list[int]:
    reader, text = speaker(model, temperature, seed), list(PROMPT)
    while len(text) < LENGTH:
        text += reader.answers(text, [])
    return text


@pytest.fixture(scope="module")
def folders(checkpoint):
    return str(checkpoint("llama")), str(checkpoint("llama", num_hidden_layers=1))


@pytest.fixture(scope="module")
def target(folders):
    return load(folders[0]).model


@pytest.fixture(scope="module")
def pair(folders, target):
    with AsyncPair(target, Origin(folders[1])) as both:
        yield both


def test_a_reader_answers_as_the_model_does_after_any_change_of_text(target):
    """Longer, cut back, changed in the middle: always what a fresh reader says."""
    reader = speaker(target, 0.0, 0)
    for text, tail in (([3, 1, 4], []), ([3, 1, 4, 1], [5, 9]), ([3, 1, 4, 1, 5], [2]), ([3, 2], [7, 7]), ([3, 2], [])):
        assert reader.answers(text, tail) == speaker(target, 0.0, 0).answers(text, tail)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("method", ["amusd", "pearl", "ssd"])
def test_the_text_of_two_processes_is_that_of_plain_decoding(pair, target, method, temperature):
    for seed in (1, 2):
        job = Job(method, PROMPT, LENGTH, Sampling(temperature), seed)
        lanes = getattr(pair, method)(job, never)
        assert lanes.text == plain(target, temperature, seed)
        assert {one.lane for one in lanes.spans} == {"drafter", "target"}, "both worked"
        assert sum(one.kept for one in lanes.spans) == LENGTH - len(PROMPT)
        assert all(0 <= one.start_s <= one.end_s for one in lanes.spans)


def test_a_text_that_ends_ends_both(pair, target):
    text = plain(target, 0.0, 0)
    end = text[len(PROMPT) + 5]
    wanted = text[: len(PROMPT) + 1 + text[len(PROMPT) :].index(end)]
    for method in ("amusd", "pearl", "ssd"):
        lanes = getattr(pair, method)(Job(method, PROMPT, LENGTH, Sampling(0.0), 0), lambda token: token == end)
        assert lanes.text == wanted


def test_a_drafter_that_is_killed_costs_speed_and_no_token(folders, target):
    with AsyncPair(target, Origin(folders[1]), slowdown_s=0.05) as both:
        killer = Timer(0.3, both.child._process.kill)
        killer.start()
        lanes = both.amusd(Job("amusd", PROMPT, LENGTH, Sampling(0.0), 0), never)
        killer.join()
        assert lanes.text == plain(target, 0.0, 0)
        assert not both.child.is_drafting
        with pytest.raises(ModelError, match="the drafter's process has ended; start the pair again"):
            both.pearl(Job("pearl", PROMPT, LENGTH, Sampling(0.0), 0), never)


def test_a_model_that_is_not_there_is_said_and_leaves_no_process(target):
    before = children()
    with pytest.raises(ModelError, match="the drafter's process could not begin: ModelError"):
        AsyncPair(target, Origin("/nowhere/at/all"))
    assert left_over(before) == []


def test_the_shared_board_holds_two_texts_and_is_gone_at_the_end():
    board = SharedBoard.create([7, 8], Size(6, rows=2, width=3))
    other = SharedBoard.join(board.memory.name, board.size)
    other.write_draft(2, [9, 9])
    board.ask_rollback()
    board.append_verified([5])
    board.allow(5)
    assert board.handed_over() == NONE_YET
    other.hand_over(3)
    assert board.handed_over() == 3
    other.write_row(2, [0.5, 1.5, 2.5])
    other.write_row(3, [3.5, 4.5, 5.5])
    assert (other.verified(0, other.verified_length()), other.rollbacks_asked()) == ([7, 8, 5], 1)
    assert (board.draft(0, board.draft_length()), board.is_over()) == ([7, 8, 9, 9], False)
    assert (other.limit(), board.row(2).tolist(), board.row(3).tolist()) == (5, [0.5, 1.5, 2.5], [3.5, 4.5, 5.5])
    board.append_verified([6, 7, 8, 9])
    assert other.verified(0, other.verified_length()) == [7, 8, 5, 6, 7, 8], "no further than there is room"
    assert (other.draft(2, 4), board.row(2).tolist()) == ([9, 9], [0.5, 1.5, 2.5])
    name = board.memory.name
    other.close()
    board.close(unlink=True)
    with pytest.raises(FileNotFoundError):
        SharedMemory(name)


def test_a_reader_reads_branches_as_it_would_read_each_text_alone(target):
    """Two behind the text's end and its first token, then a token more of each; afterwards the text goes on as ever."""
    reader = Reader(target)
    reader.logits([3, 1, 4], [1, 5])
    first = reader.branches([3, 1, 4], [[7], [1, 2]])
    second = reader.branches([3, 1, 4], [[7, 6], [1, 2, 6]])
    texts = ([3, 1, 4, 7], [3, 1, 4, 1, 2], [3, 1, 4, 7, 6], [3, 1, 4, 1, 2, 6])
    alone = torch.cat([Reader(target).logits(text) for text in texts])
    assert torch.allclose(torch.cat([first, second]), alone, atol=1e-5)
    assert torch.allclose(reader.logits([3, 1, 4, 7, 6]), alone[2:3], atol=1e-5), "a branch that became the text"


def test_the_likeliest_tokens_behind_a_draft_leave_out_the_ones_that_were_drawn(target):
    """At the text's end and behind its one drafted token: each the second and the third of what the model believes."""
    drawer = Drawer(Reader(target), Draws(Sampling(0.0), SeededRandom(0)))
    (first,) = drawer.drawn(Draft([3, 1, 4]))
    (second,) = drawer.drawn(Draft([3, 1, 4, first]))
    ranked = Reader(target).logits([3, 1, 4], [first]).topk(3).indices.tolist()
    assert [first, second] == [ranked[0][0], ranked[1][0]]
    assert drawer.likeliest(Likeliest([3, 1, 4], [first, second], 2)) == [*ranked[0][1:], *ranked[1][1:]]


def test_a_drafter_that_is_right_has_something_ready_for_every_verdict(folders, target):
    """The target drafts for itself: whatever a verdict is, it was drafted for. How much depends on the clock."""
    with AsyncPair(target, Origin(folders[0])) as both:
        lanes = both.ssd(Job("ssd", PROMPT, 3 + 4 * 5, Sampling(0.0), 0, gamma=3, fan_out=1), never)
        none = both.ssd(Job("ssd", PROMPT, 3 + 4 * 5, Sampling(0.0), 0, gamma=3, fan_out=0), never)
    assert [one.accepted for one in lanes.spans if one.what == "verify"] == [3] * 5
    assert len(lanes.ready) == 4
    assert set(lanes.ready) <= {0, 1, 2, 3}
    assert none.ready == [0] * 4
    assert lanes.text == none.text == [*PROMPT, *speaker(target, 0.0, 0).next_tokens(PROMPT, 20)]
