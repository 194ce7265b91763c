from tests.long_first import long_first

SUITE = [(2, ""), (3, "browser"), (3, ""), (1, "slow"), (2, ""), (1, "slow"), (1, "slow"), (2, "")]


def test_each_process_begins_with_what_takes_long_and_ends_with_what_does_not() -> None:
    assert long_first(SUITE, 3) == [1, 0, 3, 6, 2, 5, 4, 7]


def test_for_one_process_it_is_one_run() -> None:
    assert long_first(SUITE, 1) == [1, 3, 5, 6, 0, 2, 4, 7]


def test_more_processes_than_modules_lose_none() -> None:
    assert long_first([(1, "slow"), (1, "")], 4) == [0, 1]
