"""A job ends when its time is over or nobody hears it, and its work says which; a visitor's own stop is no error."""

from collections.abc import Iterator

import pytest

from specviz.app.job import CURRENT, Cancellations, Job, current
from specviz.errors import JobError


class Clock:
    """Seconds that a test sets."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_work_without_a_queue_goes_on_for_ever() -> None:
    assert not current().is_over()
    current().check()


def test_a_job_is_over_when_its_seconds_are() -> None:
    clock = Clock()
    job = Job(300.0, clock)
    clock.now = 1299.0
    assert not job.is_over()
    clock.now = 1300.0
    assert job.is_over()
    with pytest.raises(JobError, match="the 300 s that this machine gives one job are over"):
        job.check()


def test_a_job_that_nobody_hears_is_over() -> None:
    job = Job()
    job.leave()
    assert job.is_over()
    with pytest.raises(JobError, match="nobody is listening"):
        job.check()


@pytest.fixture
def clock_of_the_job() -> Iterator[Clock]:
    """The clock of the job in which the test runs, which has ten seconds."""
    clock = Clock()
    token = CURRENT.set(Job(10.0, clock))
    yield clock
    CURRENT.reset(token)


def test_a_switch_is_thrown_by_the_job_and_then_says_so(clock_of_the_job: Clock) -> None:
    stop = Cancellations().armed("visitor")
    assert not stop.is_set()
    clock_of_the_job.now += 10.0
    assert stop.is_set()
    with pytest.raises(JobError):
        stop.check()


def test_what_the_visitor_stopped_themselves_or_what_came_to_its_end_is_no_error(clock_of_the_job: Clock) -> None:
    cancellations = Cancellations()
    stopped, done = cancellations.armed("visitor"), cancellations.armed("another")
    cancellations.stop("visitor")
    assert stopped.is_set()
    clock_of_the_job.now += 10.0
    assert stopped.is_set()
    stopped.check()
    done.check()  # it never asked again whether to go on
