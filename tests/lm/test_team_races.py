"""The team of threads under ThreadSanitizer, which sees two of them at one number without an order between them."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("team_races.c")
COMPILER = shutil.which(os.environ.get("CC", "cc"))


@pytest.fixture
def program(tmp_path):
    built = tmp_path / "team_races"
    command = [COMPILER or "cc", "-O1", "-g", "-fsanitize=thread", "-pthread", "-o", str(built), str(SOURCE)]
    if COMPILER is None or subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("there is no compiler here that has ThreadSanitizer")
    return built


def test_no_two_threads_of_a_team_are_at_one_number_at_once(program):
    settings = {"TSAN_OPTIONS": "report_thread_leaks=0"}  # its threads wait as long as the process lives
    ran = subprocess.run([program], check=False, capture_output=True, text=True, timeout=100, env=os.environ | settings)
    if "unexpected memory mapping" in ran.stderr:
        pytest.skip("this system lays out memory as ThreadSanitizer cannot have it")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
