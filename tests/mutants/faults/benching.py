"""Faults of what a bench divides by what, and of the seconds that a round's phases are given."""

from tests.mutants.faults.fault import Edits, edit

ROWS_OF_BENCHES = "tests/bench/core/test_rows.py"
TIMES = "tests/engine/test_round_times.py"

FAULTS: Edits = {
    ("specviz/bench/passes.py", "tests/bench/test_passes.py"): {
        "bench: passes alone find more cached rows with every round": edit(
            "self._judged.truncate(judging.cached_rows)", "pass"
        ),
        "bench: passes that a round had by one call are called one by one": edit(
            "written[0] if written else sum(", "sum("
        ),
        "bench: every row of a drafter's step is read out": edit("n, last_only=True", "n"),
        "bench: steps behind a target's pass are timed without it": edit(
            "passes.steps_s(run.rounds, judged=True)", "passes.steps_s(run.rounds, judged=False)"
        ),
        "bench: a loop that has just begun counts": edit("for _ in range(2)][1]", "for _ in range(2)][0]"),
        "bench: the round that reads the prompt counts": edit("in rounds[1:] if", "in rounds if"),
        "bench: tracing is a share of decoding alone": edit("traced.prefill_s + traced.decode_s", "traced.decode_s"),
        "bench: the two ratios of drafting change places": edit(
            "drafted_s / alone_s, drafted_s / after_s,", "drafted_s / after_s, drafted_s / alone_s,"
        ),
        "bench: the repeat that sets up buffers counts": edit(
            "timed[n] += [took] if repeat else []", "timed[n] += [took]"
        ),
    },
    ("specviz/lm/step_time.py", "tests/lm/test_step_time.py"): {
        "step times: a tree is timed as the chain": edit("base + (i - 1) // 2 for", "base + i - 1 for"),
        "step times: other threads have the same": edit("replayed, torch.get_num_threads()", "replayed"),
        "step times: the last rows of the context are left out": edit(
            "cached_rows + n <= info", "cached_rows + n < info"
        ),
        "step times: one row is timed behind the widest": edit("in sorted(counts, reverse=True)", "in counts"),
        "step times: where the budget is over one pass is enough": edit("repeat >= FEWEST_REPEATS and", "repeat and"),
    },
    ("specviz/engine/session.py", TIMES): {
        "session: learning counts as committing": edit(
            'clock.ended("draft")  # what a drafter learns is for its next drafts',
            'clock.ended("commit")  # what a drafter learns is for its next drafts',
        ),
        "session: judging and committing change places": edit(
            "times = Times(**clock.seconds)",
            "times = Times(*(clock.seconds[name] for name in ('draft', 'target', 'commit', 'judge')))",
        ),
        "session: a round begins when the run has taken as long as it itself takes": edit(
            "start_s=self.decode_s,", "start_s=times.total,"
        ),
    },
    ("specviz/theory/rows.py", ROWS_OF_BENCHES): {
        "bench: memory-bound speedups all weigh the same": edit(
            "(run.output_tokens, run.output_tokens / run.mbsu if run.mbsu else 0.0)", "(run.mbsu or 0.0, 1.0)"
        ),
        "bench: a memory-bound speedup that nobody counted is nought": edit(
            "if any(run.mbsu is None", "if all(run.mbsu is None"
        ),
        "bench: candidates per token are called candidates per pass": edit(
            "(run.drafted, run.target_passes)", "(run.drafted, run.output_tokens)"
        ),
        "bench: rounds without a draft are in the mean acceptance length": edit(
            "(run.lengths, run.steps)", "(run.lengths, run.target_passes)"
        ),
    },
    ("specviz/theory/rows.py", "tests/theory/test_rows.py"): {
        "sweep: every run weighs the same in a row's mean acceptance length": edit(
            "lengths=steps * (point.mean_acceptance_length or 0.0)", "lengths=point.mean_acceptance_length or 0.0"
        )
    },
    ("specviz/bench/core/rows.py", ROWS_OF_BENCHES): {
        "bench: the fastest plain run is the baseline": edit("median(map(speed, plain", "max(map(speed, plain"),
        "bench: the first plain run of a prompt is the baseline": edit(
            "median(map(speed, plain[contest_run.prompt, contest_run.repeat]))",
            "speed(plain[contest_run.prompt, contest_run.repeat][0])",
        ),
        "bench: texts of one length are the same text": edit(
            "contest_run.measured.output_ids == plain[contest_run.prompt, contest_run.repeat][0].output_ids",
            "len(contest_run.measured.output_ids) == len(plain[contest_run.prompt, contest_run.repeat][0].output_ids)",
        ),
    },
    ("specviz/bench/speed/table.py", ROWS_OF_BENCHES): {
        "bench: tracing's overhead is over the seconds with it": edit(
            "run.record_s / (run.wall_s - run.record_s)", "run.record_s / run.wall_s"
        ),
        "bench: the ratio of decoding has the prompt's pass in it": edit(
            "decode_ratio=over_prompts(decoded, plain, decode_speed)",
            "decode_ratio=over_prompts(decoded, plain, whole_speed)",
        ),
        "bench: the ratio of the whole call leaves the prompt's pass out": edit(
            " ratio=over_prompts(group, plain, whole_speed)", " ratio=over_prompts(group, plain, decode_speed)"
        ),
        "bench: every family has the number of all": edit(
            "if contest_run.family == family], plain, decode_speed", "if contest_run.family], plain, decode_speed"
        ),
    },
    ("specviz/bench/core/contest.py", "tests/bench/core/test_contest.py"): {
        "bench: the same way always goes first": edit(
            "yield repeat, prompt, rotated(ways, repeat + number)", "yield repeat, prompt, rotated(ways, 0)"
        )
    },
    ("specviz/theory/speedup.py", "tests/theory/test_speedup.py"): {
        "speedup: upside down": edit(
            "return tokens_per_s / plain_tokens_per_s", "return plain_tokens_per_s / tokens_per_s"
        )
    },
}
