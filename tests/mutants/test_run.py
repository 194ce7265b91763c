"""What a planted fault's tests may say of it, on a tree of two files instead of SpecViz."""

import multiprocessing

import pytest

from tests.mutants.faults.fault import Fault
from tests.mutants.run import plant

SUM = """from specviz import total


def test_sum():
    assert total([1, 2]) == 3
"""


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "specviz").mkdir()
    (tmp_path / "specviz" / "__init__.py").write_text("def total(numbers):\n    return sum(numbers)\n")
    (tmp_path / "test_sum.py").write_text(SUM)
    return tmp_path


def planted(tree, *faults, limit_s=60):
    """The status of the command for faults in the tree, each its replacement of the sum and whether it hangs."""
    listed = [
        Fault(f"fault {number}", "specviz/__init__.py", "return sum(numbers)", replacement, ("test_sum.py",), hangs)
        for number, (replacement, hangs) in enumerate(faults)
    ]
    return plant(listed, tree, multiprocessing.get_context("spawn"), limit_s)


WRONG, EQUAL, ENDLESS = "return 4", "return sum(numbers) + 0", "while True: pass"


def test_a_wrong_sum_is_found_and_an_equal_one_survives(tree, capsys):
    assert planted(tree, (WRONG, False)) == 0
    assert planted(tree, (WRONG, False), (EQUAL, False)) == 1
    said = capsys.readouterr().out
    assert "killed  specviz/__init__.py: fault 0" in said
    assert "SURVIVED  specviz/__init__.py: fault 1" in said
    assert "1 of 2 killed, 1 survived, 0 without an answer" in said


def test_no_answer_is_neither_found_nor_survived_and_fails_the_command(tree, capsys):
    assert planted(tree, (ENDLESS, False), limit_s=1) == 1
    said = capsys.readouterr().out
    assert "NO ANSWER  specviz/__init__.py: fault 0" in said
    assert "NO ANSWER: fault 0:\nno answer within 1 s" in said
    assert "0 of 1 killed, 0 survived, 1 without an answer" in said


def test_no_answer_finds_a_fault_that_is_declared_to_hang(tree, capsys):
    assert planted(tree, (ENDLESS, True), limit_s=1) == 0
    assert "1 of 1 killed, 0 survived, 0 without an answer" in capsys.readouterr().out


def test_a_fault_declared_to_hang_may_survive_like_another(tree, capsys):
    assert planted(tree, (EQUAL, True)) == 1
    assert "0 of 1 killed, 1 survived, 0 without an answer" in capsys.readouterr().out


def test_a_tree_whose_tests_fail_before_is_refused(tree, capsys):
    (tree / "test_sum.py").write_text(SUM.replace("== 3", "== 4"))
    assert planted(tree, (WRONG, False)) == 2
    assert "the tests do not pass without any fault (pytest returned 1)" in capsys.readouterr().out
