"""Faults of what a bench divides by what, and of the seconds that a round's phases are given."""

from __future__ import annotations

from tests.mutants.faults.fault import Fault

ROWS_OF_BENCHES = "tests/bench/core/test_rows.py"
TIMES = "tests/engine/test_round_times.py"

FAULTS: tuple[Fault, ...] = (
    Fault(
        "session: learning counts as committing",
        "specviz/engine/session.py",
        'with clock.phase("draft"):  # what a drafter learns is for its next drafts',
        'with clock.phase("commit"):  # what a drafter learns is for its next drafts',
        (TIMES,),
    ),
    Fault(
        "session: judging and committing change places",
        "specviz/engine/session.py",
        "times = Times(**clock.seconds)",
        "times = Times(*(clock.seconds[name] for name in ('draft', 'target', 'commit', 'judge')))",
        (TIMES,),
    ),
    Fault(
        "session: a round begins when the run has taken as long as it itself takes",
        "specviz/engine/session.py",
        "start_s=self.decode_s,",
        "start_s=times.total,",
        (TIMES,),
    ),
    Fault(
        "bench: memory-bound speedups all weigh the same",
        "specviz/theory/rows.py",
        "(run.mbsu or 0.0) * run.target_passes, run.target_passes",
        "(run.mbsu or 0.0), 1.0",
        (ROWS_OF_BENCHES,),
    ),
    Fault(
        "bench: a memory-bound speedup that nobody counted is nought",
        "specviz/theory/rows.py",
        "if any(run.mbsu is None",
        "if all(run.mbsu is None",
        (ROWS_OF_BENCHES,),
    ),
    Fault(
        "sweep: every run weighs the same in a row's mean acceptance length",
        "specviz/theory/rows.py",
        "lengths=steps * (point.mean_acceptance_length or 0.0)",
        "lengths=point.mean_acceptance_length or 0.0",
        ("tests/theory/test_rows.py",),
    ),
    Fault(
        "bench: the fastest plain run is the baseline",
        "specviz/bench/core/rows.py",
        "median(map(speed, plain",
        "max(map(speed, plain",
        (ROWS_OF_BENCHES,),
    ),
    Fault(
        "bench: the first plain run of a prompt is the baseline",
        "specviz/bench/core/rows.py",
        "median(map(speed, plain[contest_run.prompt, contest_run.repeat]))",
        "speed(plain[contest_run.prompt, contest_run.repeat][0])",
        (ROWS_OF_BENCHES,),
    ),
    Fault(
        "bench: texts of one length are the same text",
        "specviz/bench/core/rows.py",
        "contest_run.measured.output_ids == plain[contest_run.prompt, contest_run.repeat][0].output_ids",
        "len(contest_run.measured.output_ids) == len(plain[contest_run.prompt, contest_run.repeat][0].output_ids)",
        (ROWS_OF_BENCHES,),
    ),
    Fault(
        "bench: candidates per token are called candidates per pass",
        "specviz/theory/rows.py",
        "(run.drafted, run.target_passes)",
        "(run.drafted, run.output_tokens)",
        (ROWS_OF_BENCHES,),
    ),
    Fault(
        "bench: rounds without a draft are in the mean acceptance length",
        "specviz/theory/rows.py",
        "(run.lengths, run.steps)",
        "(run.lengths, run.target_passes)",
        (ROWS_OF_BENCHES,),
    ),
    Fault(
        "bench: tracing's overhead is over the seconds with it",
        "specviz/bench/speed/table.py",
        "run.record_s / (run.wall_s - run.record_s)",
        "run.record_s / run.wall_s",
        (ROWS_OF_BENCHES,),
    ),
    Fault(
        "bench: the ratio of decoding has the prompt's pass in it",
        "specviz/bench/speed/table.py",
        "decode_ratio=over_prompts(group, plain, decode_speed)",
        "decode_ratio=over_prompts(group, plain, whole_speed)",
        (ROWS_OF_BENCHES,),
    ),
    Fault(
        "bench: the ratio of the whole call leaves the prompt's pass out",
        "specviz/bench/speed/table.py",
        " ratio=over_prompts(group, plain, whole_speed)",
        " ratio=over_prompts(group, plain, decode_speed)",
        (ROWS_OF_BENCHES,),
    ),
    Fault(
        "bench: every family has the number of all",
        "specviz/bench/speed/table.py",
        "if contest_run.family == family], plain, decode_speed",
        "if contest_run.family], plain, decode_speed",
        (ROWS_OF_BENCHES,),
    ),
    Fault(
        "bench: the same way always goes first",
        "specviz/bench/core/contest.py",
        "yield repeat, prompt, rotated(ways, repeat + number)",
        "yield repeat, prompt, rotated(ways, 0)",
        ("tests/bench/core/test_contest.py",),
    ),
    Fault(
        "speedup: upside down",
        "specviz/theory/speedup.py",
        "return tokens_per_s / plain_tokens_per_s",
        "return plain_tokens_per_s / tokens_per_s",
        ("tests/theory/test_speedup.py",),
    ),
)
