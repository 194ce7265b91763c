"""The lines under a printed run: its number format, what it gained over plain decoding, and its MBSU."""

import io
from dataclasses import replace

from specviz.cli.commands.run import echo
from specviz.cli.printed_run import TokenTexts, _memory_bound, hidden_tokens, show_summary
from specviz.cli.terminal import Terminal
from specviz.trace.events import Pass, PlainDecoding, Trace
from specviz.trace.header import MethodCard
from tests.app.doubles import sample


def printed(trace: Trace) -> dict[str, str]:
    """Name → text of every line."""
    stream = io.StringIO()
    show_summary(Terminal(stream, colour=False), trace)
    lines = (line.strip().partition("  ") for line in stream.getvalue().splitlines())
    return {name: text.strip() for name, _, text in lines}


def timed(*ratios: float) -> Trace:
    """The sample beside plain decoding of one second per token, its drafts of four."""
    rounds = [replace(this, drafted=replace(this.drafted, seconds=4.0)) for this in sample().rounds]
    finished = replace(sample().finished, plain=PlainDecoding(20, 20.0, len(ratios), True, list(ratios)))
    return replace(sample(), started=replace(sample().started, source="live"), rounds=rounds, finished=finished)


def test_what_auto_chose_is_told_with_its_reason_and_an_asked_format_is_not() -> None:
    card = replace(
        sample().started.target, dtype="bfloat16", dtype_why="width 576 and this processor multiplies it (AMX)"
    )
    chosen = replace(sample(), started=replace(sample().started, target=card))
    assert printed(chosen)["number format"] == "bfloat16: width 576 and this processor multiplies it (AMX)"
    assert "number format" not in printed(sample())


def test_a_drafter_that_learnt_from_other_weights_of_the_target_is_a_warning() -> None:
    started = sample().started
    drafter = replace(started.drafter, name="eagle", learnt_from="ab" * 32)
    target = replace(started.target, name="smollm2", weights_sha256="cd" * 32)
    warned = replace(sample(), started=replace(started, drafter=drafter, target=target))
    assert printed(warned)["warning"].startswith(
        "eagle learnt from smollm2 with the weights abababab and drafts for cdcdcdcd"
    )
    assert "warning" not in printed(sample())


def test_one_token_of_one_pass_is_no_tokens_of_passes() -> None:
    assert printed(sample())["output"] == "20 tokens in 8 target passes"
    one = replace(sample(), summary=replace(sample().summary, num_output_tokens=1, num_target_passes=1))
    assert printed(one)["output"] == "1 token in 1 target pass"


def test_a_speed_says_whether_the_prompt_is_in_it() -> None:
    live = timed(1.5)
    first = replace(live.rounds[0], drafted=replace(live.rounds[0].drafted, note={"prompt": "its 8 tokens are read"}))
    summary = replace(live.summary, tokens_per_second=40.0)
    said = [printed(replace(live, rounds=rounds, summary=summary))["speed"] for rounds in ([first], live.rounds)]
    assert said == [
        "40.0 tokens/s (measured; its prompt was read meanwhile)",
        "40.0 tokens/s (measured; prompt 0.010 s)",
    ]


def test_a_slower_run_names_the_factor_and_a_faster_one_its_gain_alone() -> None:
    assert printed(timed(0.8, 0.8, 0.8))["over plain decoding"].startswith(
        "0.80× as fast, measured. Drafting costs most: it takes 4.00 times as long as a plain token, and were it free "
    )
    assert printed(timed(1.5, 1.5, 1.5))["over plain decoding"] == "1.50× as fast, measured"
    assert printed(timed(0.8, 1.2, 1.3))["over plain decoding"] == "too noisy to say here"
    assert printed(timed(2.1, 2.2, 2.6))["over plain decoding"] == "at least 2.10× as fast, measured"
    assert "over plain decoding" not in printed(sample())


def chat() -> Trace:
    """The sample as an answer to a message, its last token a special one."""
    started = sample().started
    tokenizer = replace(started.tokenizer, special_ids=[sample().finished.output_ids[-1]])
    wrapped = "<|user|>Say hi<|end|><|model|>"
    return replace(sample(), started=replace(started, prompt_text=wrapped, chat_message="Say hi", tokenizer=tokenizer))


def answered(trace: Trace, template: bool) -> str:
    pieces = TokenTexts(trace.vocab, hidden_tokens(trace.started, template))
    return "".join(map(pieces.next, trace.finished.output_ids)) + pieces.rest()


def test_a_chat_is_printed_as_message_and_answer_and_with_its_template_on_request() -> None:
    last = sample().vocab[str(sample().finished.output_ids[-1])].text
    assert echo(chat().started) == "Say hi\n\n"
    assert echo(chat().started, template=True) == "<|user|>Say hi<|end|><|model|>"
    assert answered(chat(), template=True) == answered(sample(), template=False)
    assert answered(chat(), template=False) + last == answered(chat(), template=True)


def with_passes(*read: int | None) -> Trace:
    """A target of 800 bfloat16 numbers; in every round passes that read so many bytes."""
    passes = [Pass(rows=1, cached_rows=9, seconds=0.1, depth=1, read=one) for one in read]
    rounds = [replace(this, drafted=replace(this.drafted, passes=passes)) for this in sample().rounds]
    card = replace(sample().started.target, read_per_pass=800, dtype="bfloat16")
    drafter = MethodCard("heads", {}, True, pass_reads="all heads and the head")
    return replace(sample(), started=replace(sample().started, target=card, drafter=drafter), rounds=rounds)


def test_the_summary_names_the_ratio_and_what_a_pass_reads() -> None:
    ((name, text),) = _memory_bound(with_passes(300, 100))
    assert name == "MBSU"
    assert "2.00 drafter passes per round, target ÷ drafter bytes c = 8.00; a drafter pass reads all heads" in text
    ((_, text),) = _memory_bound(with_passes())
    assert "its drafts read no weights, so tokens per target pass" in text
    assert _memory_bound(with_passes(None)) == []
