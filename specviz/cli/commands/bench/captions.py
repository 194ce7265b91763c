"""`specviz bench captions`: how many drafted tokens of captions are accepted, split into grammar and what the picture
decides.

Place in the flow: an experiment of `specviz bench`; runs the captioner with its three drafters on held-out scenes.
"""

from __future__ import annotations

import argparse

from specviz.bench.core.report import check_section, markdown_table, with_interval, write_between
from specviz.cli.experiment import add_count, at_least_one, time_limit
from specviz.cli.terminal import err, out
from specviz.errors import BenchError
from specviz.resources import ROOT
from specviz.studies.captions.result import DRAFTERS, SPLITS, CaptionReport, CaptionRow, write

SUMMARY = "captions of pictures: acceptance of grammar tokens and of tokens that the picture decides, by drafter"
PAGE = ROOT.parent / "docs" / "scenes.md"
MARK = "bench captions"
RESULT = ROOT / "studies" / "captions.json"
HEAD = (
    "drafter",
    "scenes",
    "grammar",
    "decided by the picture",
    "places judged",
    "tokens per pass",
    "× plain",
    "same caption",
)


def configure(parser: argparse.ArgumentParser) -> None:
    add_count(parser, "--scenes", 60, "held-out scenes of each kind")
    add_count(parser, "--gamma", 4, "tokens drafted per round")
    parser.add_argument(
        "--write", action="store_true", help=f"keep the result in {RESULT.name} and write the table of {PAGE.name}"
    )


def run(args: argparse.Namespace) -> int:
    from specviz.bench.core.provenance import origin_of
    from specviz.live.source import LiveSource
    from specviz.studies.captions.measure import measure

    at_least_one(args, ("scenes", "gamma"))
    if args.write:
        check_section(PAGE, MARK)
    rows, headers = list[CaptionRow](), []
    with time_limit() as cancelled:
        for row, last in measure(LiveSource(measure=False), args.scenes, args.gamma, cancelled):
            rows.append(row)
            headers.append(last.started)
            err().line(f"{DRAFTERS[row.drafter]}, {SPLITS[row.split]}: {row.scenes} scenes")
    if not rows:
        raise BenchError("not a single drafter was finished; give it more time.")
    origin = origin_of(headers)
    models = {one.name: one.weights_sha256 for one in (origin.target, *origin.drafters)}
    command = f"specviz bench captions --scenes {args.scenes} --gamma {args.gamma} --write"
    report = CaptionReport(args.gamma, tuple(rows), models, command, str(origin))
    out().line(table(report))
    if args.write and not cancelled():
        write(report, RESULT)
        write_between(PAGE, MARK, table(report))
    return 1 if any(row.same_output < row.scenes for row in rows) else 0


def table(report: CaptionReport) -> str:
    """Rows and where they come from, as Markdown."""
    body = [
        (
            DRAFTERS[row.drafter],
            SPLITS[row.split],
            with_interval(row.grammar),
            with_interval(row.grounded),
            f"{row.judged[0]} + {row.judged[1]}",
            with_interval(row.tokens_per_pass),
            with_interval(row.speedup),
            f"{row.same_output}/{row.scenes}",
        )
        for row in report.rows
    ]
    return (
        f"Greedy, γ = {report.gamma}, {report.rows[0].scenes} held-out scenes of each kind. Shares accepted of the "
        "places where a candidate was judged, by the token that came out; × plain is plain decoding's time after the "
        "prompt over the drafter's, in turns on every scene; in brackets the central 95 % over resampled "
        f"scenes.\n\n{markdown_table(HEAD, body, words=2)}\n\n{report.origin} `{report.command}`"
    )
