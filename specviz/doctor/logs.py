"""Records that are text: lines of servers' logs, and counters in Prometheus' text format.

Each form knows its lines by one pattern and makes one record of all that match. Field names and their sources:
`docs/doctor.md`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from specviz.doctor.record import Record, mean_by_steps

NUMBER = r"([0-9]{1,15}(?:\.[0-9]{1,15})?)"
LISTED = r"([0-9.]{1,12}(?:, *[0-9.]{1,12}){0,127})"
"""numbers with commas between them"""
ROUNDED = 0.006
"""how far a rate printed with two or three digits may lie from the one that its counts give"""
LENGTH_ROUNDED = 0.011
"""the same of a length"""


@dataclass(frozen=True, slots=True)
class TextForm:
    """One kind of text."""

    knows: re.Pattern[str]
    """found somewhere in a text of this form"""
    read: Callable[[str], Record]


def numbers(listed: str) -> tuple[float, ...]:
    """ "0.8, 0.5" → (0.8, 0.5); what is no number ends the list."""
    values = list[float]()
    for word in listed.split(","):
        try:
            values.append(float(word))
        except ValueError:
            break
    return tuple(values)


def off_by(name: str, stated: float | None, due: float | None, rounded: float) -> list[str]:
    """A sentence where a printed number is not the one that the counts give."""
    if stated is None or due is None or abs(stated - due) <= rounded:
        return []
    return [f"{name} is told as {stated:g}, but the counts give {due:.3f}."]


# --- llama.cpp -------------------------------------------------------------------------------------------------------

LLAMA_DRAFT = re.compile(
    rf"draft acceptance(?: rate)? = {NUMBER} \( *([0-9]{{1,12}}) accepted / *([0-9]{{1,12}}) generated\)"
    rf"(?:, mean acceptance length = *{NUMBER})?(?:, acceptance rate per position = \({LISTED}\))?"
)
LLAMA_EVAL = re.compile(rf"(?<!prompt )eval time = *{NUMBER} ms / *([0-9]{{1,12}}) (?:tokens|runs)")
LLAMA_TOTALS = re.compile(
    r"statistics +([A-Za-z0-9_-]{1,40}):[^\n]{0,120}?#gen drafts = *([0-9]{1,12}),[^\n]{0,60}?#gen tokens = "
    r"*([0-9]{1,12}), "
    r"\#acc tokens = *([0-9]{1,12})"
)
LLAMA_SECONDS = re.compile(r"dur\(b,g,a\) = *([0-9.]{1,15}), *([0-9.]{1,15}), *([0-9.]{1,15}) ms")
LLAMA_POSITIONS = re.compile(rf"\#acc rate/pos = \({LISTED}\)")


def from_llama_log(text: str) -> Record:
    """llama-server's and llama-cli's log: a line per request, else the last totals of each way of drafting.

    A request's target passes are its tokens less what was accepted, for every pass gives one token of its own; the pass
    over the prompt is not told apart, so that the last may be one too many.
    """
    requests = [match.groups() for match in LLAMA_DRAFT.finditer(text)]
    evaluated = [(float(ms), int(tokens)) for ms, tokens in LLAMA_EVAL.findall(text)]
    decode_s = sum(ms for ms, _ in evaluated) / 1000 or None
    output = sum(tokens for _, tokens in evaluated) or None
    totals = {name: tuple(map(int, counts)) for name, *counts in LLAMA_TOTALS.findall(text)}
    drafting = [float(generate) / 1000 for _, generate, _ in LLAMA_SECONDS.findall(text)][-len(totals) :]
    if not requests and not totals:
        return Record(
            "llama.cpp", "a log without a line on drafts", output_tokens=output, decode_s=decode_s, speculates=False
        )
    if not requests:
        drafts, drafted, accepted = (sum(column) for column in zip(*totals.values(), strict=True))
        positions = LLAMA_POSITIONS.findall(text)
        return Record(
            "llama.cpp",
            "totals of a server",
            drafted,
            accepted,
            drafts,
            output,
            by_position=numbers(positions[-1]) if positions and len(totals) == 1 else None,
            decode_s=decode_s,
            draft_s=sum(drafting) or None,
            speculates=drafted > 0,
            untold=("which tokens were rejected",),
        )
    accepted, drafted = (sum(int(row[column]) for row in requests) for column in (1, 2))
    steps = output - accepted if output is not None and len(evaluated) == len(requests) and output > accepted else None
    shares = [(numbers(row[4]), _steps(row)) for row in requests if row[4]]
    broken = [
        sentence
        for rate, kept, made, *_ in requests
        for sentence in off_by("draft acceptance", float(rate), int(kept) / max(1, int(made)), ROUNDED)
    ]
    stated_steps = sum(count for _, count in shares) if len(shares) == len(requests) else None
    whole = sum(drafts for _, drafts, _ in totals.values()) == drafted
    return Record(
        "llama.cpp",
        "a log, request by request",
        drafted,
        accepted,
        stated_steps or steps,
        output,
        by_position=mean_by_steps(shares) if len(shares) == len(requests) else None,
        decode_s=decode_s,
        draft_s=sum(drafting) or None if whole else None,
        requests=len(requests),
        speculates=drafted > 0,
        untold=("which tokens were rejected", *(() if shares else ("positions",))),
        broken=tuple(broken),
    )


def _steps(row: tuple[str, ...]) -> int:
    """Steps of one request from its mean length, 1 + accepted ÷ steps, which is printed with two digits; from the
    share that accepted the first candidate nothing exact follows."""
    accepted, length = int(row[1]), float(row[3] or 0)
    return max(1, round(accepted / (length - 1))) if length > 1 else 1


# --- vLLM ------------------------------------------------------------------------------------------------------------

VLLM_LINE = re.compile(
    rf"Mean acceptance length: {NUMBER}[^\n]{{0,120}}?Accepted: ([0-9]{{1,15}}) tokens, Drafted: "
    rf"([0-9]{{1,15}}) tokens, "
    rf"Per-position acceptance rate: {LISTED}(?:, Avg Draft acceptance rate: {NUMBER}%)?"
)
VLLM_SHORT = re.compile(
    rf"Draft acceptance rate: {NUMBER}%, Accepted: ([0-9]{{1,15}}) tokens, Drafted: ([0-9]{{1,15}}) tokens"
)
VLLM_THROUGHPUT = re.compile(rf"Avg generation throughput: {NUMBER} tokens/s")
VLLM_UNTOLD = ("which tokens were rejected", "seconds of drafting")


def from_vllm_log(text: str) -> Record:
    """vLLM's periodic lines, each over its own interval: `SpecDecoding metrics: …`. Steps are drafted ÷ positions,
    which holds where every draft is as long as configured."""
    lines = [match.groups() for match in VLLM_LINE.finditer(text)]
    if not lines:
        short = [match.groups() for match in VLLM_SHORT.finditer(text)]
        if not short:
            return Record("vLLM", "a log without a line on drafts", speculates=False)
        accepted, drafted = (sum(int(row[column]) for row in short) for column in (1, 2))
        return Record(
            "vLLM",
            "lines of a log",
            drafted,
            accepted,
            speculates=drafted > 0,
            untold=(*VLLM_UNTOLD, "positions", "steps"),
        )
    rows = [(numbers(listed), int(drafted)) for _, _, drafted, listed, _ in lines]
    steps = [round(drafted / len(shares)) for shares, drafted in rows]
    accepted, drafted = sum(int(row[1]) for row in lines), sum(made for _, made in rows)
    broken = list[str]()
    for (length, kept, made, listed, rate), count in zip(lines, steps, strict=True):
        if rate is not None:
            broken += off_by("Avg Draft acceptance rate", float(rate) / 100, int(kept) / max(1, int(made)), ROUNDED)
        if count:
            broken += off_by(
                "Mean acceptance length",
                float(length),
                1 + sum(numbers(listed)),
                LENGTH_ROUNDED + 0.001 * len(rows[0][0]),
            )
    return Record(
        "vLLM",
        "lines of a log",
        drafted,
        accepted,
        sum(steps) or None,
        by_position=mean_by_steps([(shares, count) for (shares, _), count in zip(rows, steps, strict=True)]),
        longest=max(len(shares) for shares, _ in rows),
        speculates=drafted > 0,
        untold=VLLM_UNTOLD,
        broken=tuple(broken),
    )


PROMETHEUS = re.compile(r"^(vllm:[a-z_]{1,80}?)(?:_total)?(?:\{([^}\n]{0,2000})\})? +([0-9.eE+]{1,25})$", re.MULTILINE)
POSITION = re.compile(r'position="([0-9]{1,3})"')


def from_vllm_prometheus(text: str) -> Record:
    """vLLM's `/metrics`: counters since the server started, of all its engines and models together."""
    sums, positions = dict[str, float](), dict[int, float]()
    for name, labels, value in PROMETHEUS.findall(text):
        amount = _amount(value)
        if name == "vllm:spec_decode_num_accepted_tokens_per_pos":
            position = POSITION.search(labels)
            if position:
                positions[int(position[1])] = positions.get(int(position[1]), 0.0) + amount
        else:
            sums[name] = sums.get(name, 0.0) + amount
    steps, drafted, accepted = (
        _whole(sums, f"vllm:spec_decode_num_{what}") for what in ("drafts", "draft_tokens", "accepted_tokens")
    )
    broken = list[str]()
    if positions and accepted is not None and round(sum(positions.values())) != accepted:
        broken.append(
            f"the counters by position sum to {sum(positions.values()):g} accepted tokens, but {accepted} are counted."
        )
    if drafted is not None and accepted is not None and accepted > drafted:
        broken.append(f"{accepted} candidates were accepted, but only {drafted} drafted.")
    depth = max(positions, default=-1) + 1
    return Record(
        "vLLM",
        "counters of a server (Prometheus)",
        drafted,
        accepted,
        steps,
        _whole(sums, "vllm:generation_tokens"),
        by_position=tuple(positions.get(d, 0.0) / steps for d in range(depth)) if steps and depth else None,
        longest=depth or None,
        speculates=drafted is not None and drafted > 0,
        untold=(*VLLM_UNTOLD, "one request apart from another"),
        broken=tuple(broken),
    )


def _amount(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        return 0.0


def _whole(sums: dict[str, float], name: str) -> int | None:
    return round(sums[name]) if name in sums and sums[name] < 1e15 else None


# --- SGLang, mlx -----------------------------------------------------------------------------------------------------

SGLANG_LINE = re.compile(
    rf"Decode batch[^\n]{{0,60}}?#running-req: ([0-9]{{1,6}})(?:[^\n]{{0,160}}?accept len: {NUMBER})?"
    rf"(?:[^\n]{{0,40}}?accept rate: {NUMBER})?[^\n]{{0,160}}?gen throughput \(token/s\): {NUMBER}"
)


def from_sglang_log(text: str) -> Record:
    """SGLang's `Decode batch` lines, each counted by its running requests. `accept len` is tokens per step, the token
    that ends a step included."""
    rows = [match.groups() for match in SGLANG_LINE.finditer(text)]
    stating = [(int(running) or 1, float(length), rate) for running, length, rate, _ in rows if length]
    untold = ("counts", "positions", "which tokens were rejected", "seconds of drafting")
    if not stating:
        return Record("SGLang", "lines of a log", speculates=False, untold=untold)
    weight = sum(running for running, _, _ in stating)
    rates = [(running, float(rate)) for running, _, rate in stating if rate]
    return Record(
        "SGLang",
        "lines of a log",
        speculates=True,
        untold=untold,
        stated_length=sum(running * length for running, length, _ in stating) / weight,
        stated_rate=sum(running * rate for running, rate in rates) / sum(running for running, _ in rates)
        if rates
        else None,
    )


MLX_LINE = re.compile(rf"Generation: ([0-9]{{1,9}}) tokens, {NUMBER} tokens-per-sec")


def from_mlx_log(text: str) -> Record:
    """What `mlx_lm.generate` prints: tokens and their speed, with a drafter or without."""
    rows = [(int(tokens), float(speed)) for tokens, speed in MLX_LINE.findall(text)]
    return Record(
        "mlx-lm",
        "what the command prints",
        output_tokens=sum(tokens for tokens, _ in rows),
        decode_s=sum(tokens / speed for tokens, speed in rows if speed) or None,
        untold=("whether speculation was on", "what was drafted", "what was accepted"),
    )


TEXT_FORMS: Iterable[TextForm] = (
    TextForm(re.compile(r"^(?:# (?:HELP|TYPE) )?vllm:[a-z_]+", re.MULTILINE), from_vllm_prometheus),
    TextForm(re.compile(r"SpecDecoding metrics: |Avg generation throughput: "), from_vllm_log),
    TextForm(re.compile(r"Decode batch[^\n]{0,60}#running-req"), from_sglang_log),
    TextForm(
        re.compile(r"draft acceptance(?: rate)? = |statistics +[A-Za-z0-9_-]+: #calls|eval time = "), from_llama_log
    ),
    TextForm(MLX_LINE, from_mlx_log),
)
"""asked in this order"""
