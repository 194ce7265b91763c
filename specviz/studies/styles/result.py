"""Prompt styles: what the measurement says, in computed sentences, and hypotheses with what was found.

Place in the flow: reads the rows of `numbers`; the page, the documentation and the command say these words. Nothing is
said of a style that the target does not write.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from specviz.bench.core.report import CLOCKS, Origin, with_interval
from specviz.errors import OptionError
from specviz.options import minutes
from specviz.studies.chart import Axis, Chart, Note, Panel, Series
from specviz.studies.study import STUDIES, Choice, Codec, Flag, Remade, Study, Table, View, count
from specviz.studies.styles.numbers import (
    CHAIN,
    DIRECT,
    DRAFT,
    FORMAT,
    KINDS,
    NO_ANSWER,
    PLAIN,
    SEARCH,
    SKETCH,
    TITLES,
    TREE,
    VERSION,
    Group,
    StyleFile,
    StyleRow,
    cheapest,
    digits,
    example,
    group,
    groups,
    names,
    problems,
    told,
    unequal,
)

INTRO = (
    "The same questions, asked for an answer in five prompt styles. A style changes how many tokens are written, how "
    "easily they are guessed and how often the answer is right, so it is weighed by **seconds per correct answer** = "
    "N · (time ÷ token) ÷ accuracy. Below a style's name: how many texts really have its form. **Recorded** on one "
    "machine, plain decoding beside the drafters. Method: `docs/styles.md`."
)
LOOKUP = ("ngram", "suffix", "rest")
"""drafters that copy what was written before"""
BUSY = 0.5
"""above its own threads, from which load on a machine did other work too"""
HEAD = (
    "style", "drafter", "in its form", "accuracy", "N tokens", "α", "τ", "tokens/s", "× plain", "s per correct answer",
    "same text",
)  # fmt: skip
EXAMPLES = ("asked", "style", "prompt", "what the target wrote", "right answer")
LONGEST = 160
"""of a text that is shown"""
WIDTH = 0.5
"""of the chart, over which the drafters of one style stand side by side; styles are 1 apart"""
Ends = tuple[float, float, float]
"""value, low, high"""


def sentence(group: Group) -> str:
    """Which styles are followed, and what is cheapest per correct answer among them and no style."""
    asked = [row for row in group.rows if row.drafter == PLAIN and row.style != DIRECT]
    follows = [TITLES[one.style] for one in asked if one.follows]
    lost = [f"{TITLES[one.style]} {one.followed.hits}/{one.followed.of}" for one in asked if not one.follows]
    said = f"The target follows {_list(follows)}" if follows else "The target follows none of these styles"
    said += f"; texts in the form that was asked for: {', '.join(lost)}. " if lost else ". "
    best, bare = cheapest(group), group.row(DIRECT, PLAIN)
    if best is None:
        return f"{said}No answer was right."
    said += f"Fewest seconds per correct answer: {TITLES[best.style]} with {_by(best.drafter)}, {_bill(best)}"
    if bare is None or (best.style, best.drafter) == (DIRECT, PLAIN):
        return f"{said}."
    return f"{said}; {TITLES[DIRECT]} with {_by(PLAIN)}, {_bill(bare)}."


def hypotheses(group: Group) -> tuple[tuple[str, str], ...]:
    """(what is supposed, what was measured here)."""
    drafting = [name for name in group.drafters if name != PLAIN]
    lookups = [name for name in drafting if name in LOOKUP]
    return (
        (
            "Terser answers than CoT's (SoT, CoD, or no steps at all) lower α and win by their few tokens.",
            _beside_chain(group, (DIRECT, SKETCH, DRAFT), drafting, terser=True),
        ),
        (
            "Styles that repeat phrases (ToT, AoT) raise α of drafters that copy earlier text.",
            _beside_chain(group, (TREE, SEARCH), lookups),
        ),
        ("The shortest answers are not the cheapest right ones.", _shortest(group)),
    )


def _beside_chain(group: Group, styles: Sequence[str], drafters: Sequence[str], terser: bool = False) -> str:
    """Each style against CoT, as far as the target follows both; what was not tested is said."""
    tested, untested, parts = [], [], []
    for style in styles:
        plain, chain = group.row(style, PLAIN), group.row(CHAIN, PLAIN)
        if plain is None or chain is None:
            continue
        if not plain.follows:
            untested.append(f"{TITLES[style]}, which the target does not write")
        elif not chain.follows:
            untested.append(f"{TITLES[style]}, because the target does not write CoT to compare with")
        elif terser and plain.tokens.value >= chain.tokens.value:
            untested.append(f"{TITLES[style]}, which is as long as CoT")
        else:
            tested.append(style)
    for style in tested:
        for name in drafters:
            own, chain = group.row(style, name), group.row(CHAIN, name)
            if own is not None and chain is not None:
                alpha, beside = with_interval(own.alpha), with_interval(chain.alpha)
                line = f"{TITLES[style]} with {name}: α {alpha} against CoT's {beside}"
                parts.append(f"{line}; {_bill(own)}, against CoT's {_bill(chain)}" if terser else line)
    if not drafters:
        untested.append("no such drafter was measured")
    found = [f"{part}." for part in parts]
    return " ".join([*found, f"Not tested: {'; '.join(untested)}."] if untested else found)


def _shortest(group: Group) -> str:
    plain = [row for row in group.rows if row.drafter == PLAIN and row.follows]
    right = [one for one in plain if one.cost is not None]
    if not right or len(plain) < 2:
        return "Not tested: no two of these ways of asking are followed, or nothing was right."
    short = min(plain, key=lambda one: one.tokens.value)
    best = min(right, key=lambda one: one.cost.value if one.cost else 0.0)
    verdict = "Not so here" if short.style == best.style else "So here"
    others = [one for one in plain if one.style != short.style]
    return (
        f"{verdict}, decoded plainly: {TITLES[short.style]} is the shortest, {_bill(short)}; "
        + "; ".join(f"{TITLES[other.style]}, {_bill(other)}" for other in others)
        + "."
    )


def how(file: StyleFile) -> str:
    """How it was measured."""
    questions = len({(run.cell.kind, run.cell.number) for run in file.runs})
    repeats = len({run.repeat for run in file.runs})
    load = "" if file.load is None else f", load {file.load:g} as it ended"
    if file.load is not None and file.load > file.machine.threads + BUSY:
        load += " (times are provisional: other programs ran beside it)"
    return (
        f"{questions} held-out questions, the same in every style, at most {file.max_new_tokens} tokens an answer, "
        f"temperature 0, {repeats} repeat{'s' * (repeats != 1)}, {CLOCKS[file.clock]}{load}"
    )


def _bill(row: StyleRow) -> str:
    """Tokens, right answers and what a right one costs."""
    cost = "" if row.cost is None else f", {told(row.cost)} s per correct answer"
    return f"{row.tokens.value:.0f} tokens, {row.accuracy.hits} of {row.accuracy.of} right{cost}"


def _by(drafter: str) -> str:
    return "plain decoding" if drafter == PLAIN else f"drafter {drafter}"


def _list(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def choices(file: StyleFile) -> tuple[Choice, ...]:
    return (Choice("group", "questions", [(name, name) for name in names(file)]),)


def view(file: StyleFile, name: str) -> View:
    """One group of questions. Raises OptionError for one that was not measured."""
    if name not in names(file):
        raise OptionError(f"'{name[:40]}' was not measured; choose {'; '.join(names(file))}.")
    measured, machine = group(file, name), file.machine
    origin = (
        f"Recorded {file.created} on {machine.processor}, {machine.cores} cores, {machine.threads} "
        f"thread{'s' * (machine.threads != 1)}, {machine.device}, {machine.dtype}; {file.target.name}"
        f"{''.join(f' and {drafter.name}' for drafter in file.drafters)}; {how(file)}."
    )
    tables = (_numbers(measured), _written(file, measured))
    return View(sentence(measured), _chart(measured), tables, origin, hypotheses(measured))


def _numbers(measured: Group) -> Table:
    heads = ("style", "in its form", "right", "N tokens", *map(_drafter, measured.drafters))
    rows = [_row(measured, name) for name in measured.styles]
    caption = "Seconds per correct answer with 95 % over questions; α, τ; tokens per second"
    return Table(heads, rows, caption, whole_from=4)


def _written(file: StyleFile, measured: Group) -> Table:
    """One question in every style."""
    answers = example(file, measured.kind, measured.asked)
    rows = [
        (TITLES[style_answer.cell.style], _on_one_line(style_answer.prompt), _on_one_line(style_answer.text))
        for style_answer in answers
    ]
    heads = ("style", "prompt", "what the target wrote")
    return Table(heads, rows, "One question in every style", words=3, whole_from=1)


def _drafter(name: str) -> str:
    return "plain decoding" if name == PLAIN else name


def _row(measured: Group, style: str) -> list[str]:
    rows = [measured.row(style, drafter) for drafter in measured.drafters]
    first = next(row for row in rows if row is not None)
    form = "–" if style == DIRECT else f"{first.followed.hits}/{first.followed.of}"
    right = f"{first.accuracy.hits}/{first.accuracy.of}"
    return [TITLES[style], form, right, f"{first.tokens.value:.1f}", *map(_cell, rows)]


def _cell(style_row: StyleRow | None) -> str:
    """`0.20 [0.16–0.24] s; α 0.97, τ 4.73; 183 tokens/s`."""
    if style_row is None:
        return "–"
    cost = NO_ANSWER if style_row.cost is None else f"{told(style_row.cost)} s"
    drafted = "" if style_row.alpha is None else f"; α {style_row.alpha.value:.2f}"
    length = "" if style_row.length is None else f", τ {style_row.length.value:.2f}"
    return f"{cost}{drafted}{length}; {style_row.tokens_per_s.value:.0f} tokens/s"


def _on_one_line(text: str) -> str:
    return " ↵ ".join(text.strip().splitlines()) or "–"


def _chart(measured: Group) -> Chart:
    """Above seconds per correct answer, below α; a mark for each drafter, both with intervals."""
    above: list[Series] = []
    below: list[Series] = []
    for index, drafter in enumerate(measured.drafters):
        own = [
            (spot, row) for spot, name in enumerate(measured.styles) if (row := measured.row(name, drafter)) is not None
        ]
        shift = WIDTH * (index / max(1, len(measured.drafters) - 1) - 0.5)
        above.append(_marks(own, _cost, "s per correct answer", index, shift, True))
        below.append(_marks(own, _acceptance, "accepted", index, shift, False))
    plain = [(spot, row) for spot, name in enumerate(measured.styles) if (row := measured.row(name, PLAIN)) is not None]
    none = [Note(NO_ANSWER, spot, 0, upright=True) for spot, row in plain if row.cost is None]
    ticks = [(spot, _label(row)) for spot, row in plain]
    return Chart(
        Axis(ticks=ticks, range=(-0.6, len(measured.styles) - 0.4)),
        (
            Panel(above, Axis("s per correct answer", from_zero=True), 0.6, none),
            Panel(below, Axis("α", range=(0, 1.02)), 0.4),
        ),
        540,
        0.07,
    )


def _label(row: StyleRow) -> str:
    """The style, and below it how many texts have its form."""
    return TITLES[row.style] + ("\n " if row.style == DIRECT else f"\n{row.followed.hits}/{row.followed.of}")


def _marks(
    own: Sequence[tuple[int, StyleRow]],
    value: Callable[[StyleRow], Ends | None],
    unit: str,
    index: int,
    shift: float,
    legend: bool,
) -> Series:
    found = [(spot, row, ends) for spot, row in own if (ends := value(row)) is not None]
    name = own[0][1].drafter
    return Series(
        _drafter(name),
        [spot + shift for spot, _, _ in found],
        [middle for _, _, (middle, _, _) in found],
        index,
        "markers",
        low=[low for _, _, (_, low, _) in found],
        high=[high for _, _, (_, _, high) in found],
        told=[
            (
                f"{TITLES[row.style]}, {name}",
                "",
                f"{digits(mid)} {unit}\n{row.tokens.value:.0f} tokens, {row.accuracy.hits} of {row.accuracy.of} right",
            )
            for _, row, (mid, _, _) in found
        ],
        group=True,
        legend=legend,
    )


def _cost(row: StyleRow) -> Ends | None:
    """An interval without an upper end is drawn downwards alone: the table says that it is open."""
    if row.cost is None:
        return None
    return row.cost.value, row.cost.low, row.cost.value if row.cost.high is None else row.cost.high


def _acceptance(row: StyleRow) -> Ends | None:
    return row.alpha


def markdown(file: StyleFile) -> str:
    """By group of questions a sentence, hypotheses and a table; then what was written."""
    parts = [f"{how(file)}."]
    for measured in groups(file):
        said = "\n".join(f"* *Hypothesis:* {what} *Measured:* {found}" for what, found in hypotheses(measured))
        parts += [f"### {measured.name.capitalize()}", f"**{sentence(measured)}**", said, _table(measured)]
    origin = Origin(file.target, file.drafters, file.machine, file.created)
    return "\n\n".join([*parts, "### What it writes", _examples(file), f"{origin} `{file.command}`"])


def _table(measured: Group) -> str:
    return Table(HEAD, [_line(row) for row in measured.rows], words=2).markdown()


def _line(style_row: StyleRow) -> tuple[str, ...]:
    accuracy = style_row.accuracy
    return (
        TITLES[style_row.style] if style_row.drafter == PLAIN else "",
        style_row.drafter,
        f"{style_row.followed.hits}/{style_row.followed.of}",
        f"{accuracy.hits}/{accuracy.of} [{accuracy.low or 0:.0%}–{accuracy.high or 0:.0%}]",
        f"{style_row.tokens.value:.1f}",
        with_interval(style_row.alpha),
        with_interval(style_row.length),
        f"{style_row.tokens_per_s.value:.0f}",
        with_interval(style_row.speedup),
        told(style_row.cost),
        f"{style_row.same}/{style_row.runs}",
    )


def _examples(file: StyleFile) -> str:
    """One question of each group in every style."""
    body = [
        (
            f"{style_answer.cell.kind}, {style_answer.cell.asked}",
            TITLES[style_answer.cell.style],
            _code(style_answer.prompt),
            _code(style_answer.text),
            str(style_answer.truth),
        )
        for kind, asked in names(file).values()
        for style_answer in example(file, kind, asked)
    ]
    return Table(EXAMPLES, body, words=4).markdown()


def _code(text: str) -> str:
    """A model's text as code on one line: what it may hold of Markdown or HTML is shown and not obeyed."""
    line = " ↵ ".join(text.strip().splitlines()).replace("`", "ˋ")
    return f"`{line[:LONGEST]}{'…' if len(line) > LONGEST else ''}`" if line else "–"


STUDY = STUDIES.add(
    Study(
        name="styles",
        home=__package__,
        summary="the same questions in five prompt styles: acceptance, tokens, accuracy, seconds per correct answer",
        question="Which prompt style?",
        order=60,
        formerly=("bench styles",),
        intro=INTRO,
        codec=Codec(
            StyleFile, "file of styles", 6, "specviz study styles --result FILE", format=FORMAT, version=VERSION,
            problems=problems,
        ),
        file="studies/styles.json.gz",
        page="styles.md",
        section="bench styles",
        choices=choices,
        view=view,
        tables=markdown,
        flags=(
            Flag("--drafters", "in addition to plain decoding, each with its default options (default %(default)s)",
                 "model,ngram", str, "NAME,…"),
            Flag("--kinds", "of questions (default %(default)s)", ",".join(KINDS), str, "NAME,…"),
            Flag("--asked", "how a style is asked for: words behind the question, the corpus's tag before it "
                 "(default %(default)s)", "words,tag", str, "WAY,…"),
            Flag("--chat", "the questions are messages, put into the target's chat template; in place of --asked"),
            count("--questions", 12, "questions of each kind, the same in every style"),
            count("--max-new-tokens", 96, "tokens per answer, where it does not end before"),
            count("--repeats", 1, "times everything is measured"),
            Flag("--max-minutes", "stop after M minutes and report the questions that are done", None, minutes, "M"),
            Flag("--prompts", "measure nothing: write the prompts, a family for each style, for `specviz bench sweep "
                 "--own-prompts`, the When-it-pays tab and whatever else takes prompts of one's own", None, Path,
                 "FILE.jsonl"),
        ),
        shared_flags="pair",
        complaints=unequal,
        remade=Remade("what a right answer costs in five prompt styles", 5, ("--dtype", "float32")),
    )
)  # fmt: skip
