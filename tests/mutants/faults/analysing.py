"""Faults of what counts why candidates are rejected: whole distributions, the facts of a trace, and tables."""

from __future__ import annotations

from tests.mutants.faults.fault import AUDIT, MEASURED, RECORDER, Fault

ANALYSIS = "tests/theory/analysis/test_analysis.py"
AGREEMENT = "tests/trace/test_agreement.py"

STYLES = "tests/studies/test_styles.py"

FAULTS: tuple[Fault, ...] = (
    Fault(
        "styles: a right answer costs its own seconds alone",
        "specviz/studies/styles/numbers.py",
        "[(float(style_run.right), style_run.seconds) for style_run in own]",
        "[(float(style_run.right), style_run.seconds) for style_run in own if style_run.right]",
        (STYLES,),
    ),
    Fault(
        "styles: the cheapest may be one that the target does not write",
        "specviz/studies/styles/numbers.py",
        "if row.follows and row.cost is not None",
        "if row.cost is not None",
        (STYLES,),
    ),
    Fault(
        "styles: a text that was cut off has an answer",
        "specviz/corpus/prompt_styles.py",
        "if not found or not (said or ended):",
        "if not found:",
        ("tests/corpus/test_prompt_styles.py",),
    ),
    Fault(
        "recorder: KL is taken the other way round",
        "specviz/engine/measured.py",
        "terms = p * (log_p - log_q)",
        "terms = q * (log_q - log_p)",
        (RECORDER,),
    ),
    Fault(
        "recorder: of equal tokens each has the same rank",
        "specviz/engine/measured.py",
        "(rows > own) | ((rows == own) & (ids < candidates))",
        "(rows > own)",
        (RECORDER,),
    ),
    Fault(
        "recorder: of equal tokens each has the same rank, on a CPU",
        "specviz/engine/measured.py",
        " + int(np.count_nonzero(row[:token] == value))",
        "",
        (RECORDER,),
    ),
    Fault(
        "recorder: a node is given the beliefs of another",
        "specviz/engine/measured.py",
        "named = dict(zip(asked, rows[n:], strict=True))",
        "named = dict(zip(asked, rows[n:].flip(0), strict=True))",
        (RECORDER,),
    ),
    Fault(
        "recorder: compiled, a node is compared with the row after its own",
        "specviz/engine/measured.c",
        "divergence(known + i, known + drafts[i], vocab",
        "divergence(known + i, known + drafts[i] + (drafts[i] + 1 < n), vocab",
        (MEASURED,),
    ),
    Fault(
        "recorder: compiled, of equal tokens the last stands first in a head",
        "specviz/engine/measured.c",
        "best[to - 1] < row[id]",
        "best[to - 1] <= row[id]",
        (MEASURED,),
    ),
    Fault(
        "recorder: compiled, of equal tokens each has the same rank",
        "specviz/engine/measured.c",
        "behind += row[t] == value;",
        "behind += 0;",
        (MEASURED,),
    ),
    Fault(
        "recorder: compiled, a token that the model excludes has a share",
        "specviz/engine/measured.c",
        "Ints possible = x > every(-INFINITY);",
        "Ints possible = x >= every(-INFINITY);",
        (MEASURED,),
    ),
    Fault(
        "checker: any divergence is let pass",
        "specviz/trace/rules/distributions.py",
        "said.kl_bits < least - ROUNDING:",
        "said.kl_bits < 0:",
        (AGREEMENT,),
    ),
    Fault(
        "checker: a rank may be anything beyond its place",
        "specviz/trace/rules/distributions.py",
        "return Range(1 + surely, size if beyond else 1 + perhaps)",
        "return Range(1, size)",
        (AGREEMENT,),
    ),
    Fault(
        "audit: the overlap is not compared",
        "specviz/live/audit/heads.py",
        'tally.number(AGREEMENT, f"{place}.overlap", said.overlap, overlap, ROUNDING)',
        'tally.number(AGREEMENT, f"{place}.overlap", overlap.value, overlap, ROUNDING)',
        (AUDIT,),
    ),
    Fault(
        "analysis: unreached candidates are counted as rejected",
        "specviz/theory/analysis/facts.py",
        'return self.fate in ("accepted", "rejected")',
        'return self.fate in ("accepted", "rejected", "unreached")',
        (ANALYSIS,),
    ),
    Fault(
        "analysis: what was wanted is the token after it",
        "specviz/theory/analysis/facts.py",
        "self.visited.index(node.parent) + 1",
        "self.visited.index(node.parent) + 2",
        (ANALYSIS,),
    ),
    Fault(
        "analysis: a draft without room is a failure",
        "specviz/theory/analysis/failures.py",
        'this.origin == "target" and this.room > 1',
        'this.origin == "target" and this.room > 0',
        (ANALYSIS,),
    ),
    Fault(
        "analysis: calibration leaves out what was not tested",
        "specviz/theory/analysis/rates.py",
        "for candidate in candidates if candidate.in_text]",
        "for candidate in candidates if candidate.tested]",
        (ANALYSIS,),
    ),
    Fault(
        "tables: of what a spreadsheet would run only some signs are guarded",
        "specviz/protocol/sweeps/store.py",
        'FORMULA = tuple("=+-@',
        'FORMULA = tuple("=+-',
        ("tests/app/analysis/test_download.py",),
    ),
)
