"""Faults of what counts why candidates are rejected: whole distributions, the facts of a trace, and tables."""

from tests.mutants.faults.fault import AUDIT, MEASURED, RECORDER, Edits, edit

ANALYSIS = "tests/theory/analysis/test_analysis.py"
AGREEMENT = "tests/trace/test_agreement.py"

STYLES = "tests/studies/test_styles.py"

FAULTS: Edits = {
    ("specviz/studies/styles/numbers.py", STYLES): {
        "styles: a right answer costs its own seconds alone": edit(
            "[(float(style_run.right), style_run.seconds) for style_run in own]",
            "[(float(style_run.right), style_run.seconds) for style_run in own if style_run.right]",
        ),
        "styles: the cheapest may be one that the target does not write": edit(
            "if row.follows and row.cost is not None", "if row.cost is not None"
        ),
    },
    ("specviz/corpus/prompt_styles.py", "tests/corpus/test_prompt_styles.py"): {
        "styles: a text that was cut off has an answer": edit("if not found or not (said or ended):", "if not found:")
    },
    ("specviz/engine/measured.py", RECORDER): {
        "recorder: KL is taken the other way round": edit("terms = p * (log_p - log_q)", "terms = q * (log_q - log_p)"),
        "recorder: of equal tokens each has the same rank": edit(
            "(rows > own) | ((rows == own) & (ids < candidates))", "(rows > own)"
        ),
        "recorder: of equal tokens each has the same rank, on a CPU": edit(
            " + int(np.count_nonzero(row[:token] == value))", ""
        ),
        "recorder: a node is given the beliefs of another": edit(
            "named = dict(zip(asked, rows[n:], strict=True))", "named = dict(zip(asked, rows[n:].flip(0), strict=True))"
        ),
    },
    ("specviz/engine/measured.c", MEASURED): {
        "recorder: compiled, a node is compared with the row after its own": edit(
            "asked->lines[block->targets + *node++].draft = i;",
            "asked->lines[block->targets + *node++].draft = i + (i + 1 < asked->n);",
        ),
        "recorder: compiled, of equal tokens the last stands first in a head": edit(
            "best[to - 1] < x;", "best[to - 1] <= x;"
        ),
        "recorder: compiled, of equal tokens each has the same rank": edit("count += row[t] == value;", "count += 0;"),
        "recorder: compiled, a token that the model excludes has a share": edit(
            "of_x[i] = only(x > every(-INFINITY), of_x[i]);", ""
        ),
    },
    ("specviz/trace/rules/distributions.py", AGREEMENT): {
        "checker: any divergence is let pass": edit("said.kl_bits < least - ROUNDING:", "said.kl_bits < 0:"),
        "checker: a rank may be anything beyond its place": edit(
            "return Range(1 + surely, size if beyond else 1 + perhaps)", "return Range(1, size)"
        ),
    },
    ("specviz/live/audit/heads.py", AUDIT): {
        "audit: the overlap is not compared": edit(
            'tally.number(AGREEMENT, f"{place}.overlap", said.overlap, overlap, ROUNDING)',
            'tally.number(AGREEMENT, f"{place}.overlap", overlap.value, overlap, ROUNDING)',
        )
    },
    ("specviz/theory/analysis/facts.py", ANALYSIS): {
        "analysis: unreached candidates are counted as rejected": edit(
            'return self.fate in ("accepted", "rejected")', 'return self.fate in ("accepted", "rejected", "unreached")'
        ),
        "analysis: what was wanted is the token after it": edit(
            "self.start + node.depth - 1\n        return", "self.start + node.depth\n        return"
        ),
    },
    ("specviz/theory/analysis/failures.py", ANALYSIS): {
        "analysis: a draft without room is a failure": edit(
            'this.origin == "target" and this.room > 1', 'this.origin == "target" and this.room > 0'
        )
    },
    ("specviz/theory/analysis/rates.py", ANALYSIS): {
        "analysis: calibration leaves out what was not tested": edit(
            "for candidate in candidates if candidate.in_text]", "for candidate in candidates if candidate.tested]"
        )
    },
    ("specviz/protocol/sweeps/store.py", "tests/app/analysis/test_download.py"): {
        "tables: of what a spreadsheet would run only some signs are guarded": edit(
            'FORMULA = tuple("=+-@', 'FORMULA = tuple("=+-'
        )
    },
}
