"""`specviz run` over a played source: what is asked of the engine, what is printed, what is kept."""

import io
import json
import re
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from specviz.cli.commands import run as run_command
from specviz.cli.commands.run import own_flags
from specviz.cli.method_flags import flag_of
from specviz.protocol.runs import ModelPair, PromptCard, request_of
from specviz.trace import codec
from tests.cli.conftest import Call

TEXT = codec.read(Path(__file__).parent.parent / "golden" / "trace-1.0-sample.json").finished.text
SHOWN = "    return a + b #<b>${1+1}`{{x}}\n🚀אב\\u200b</script>e\u0301\\u202e\nEND\n"
"""the same as a terminal may see it: a zero-width space and a direction override are escaped"""


def test_text_comes_with_its_prompt_and_a_summary(specviz: Call, played: Any) -> None:
    result = specviz("run", "--prompt", "x")
    assert result.code == 0
    assert result.out.startswith("def add(a, b):\n    return a")
    assert "acceptance rate" in result.out
    assert "\x1b" not in result.out


def test_a_long_prompt_is_shown_by_its_ends(golden: Path) -> None:
    text = "a" * 300 + "b" * 4000 + "c" * 300
    long = replace(codec.read(golden).started, prompt_text=text, prompt_ids=[1] * 4600)
    middle = " […4,000 characters of a prompt of 4,600 tokens…] "
    assert run_command.echo(long) == "a" * 300 + middle + "c" * 300
    assert run_command.echo(replace(long, prompt_text="a" * 600)) == "a" * 600


def test_quiet_prints_the_text_alone(specviz: Call, played: Any) -> None:
    assert specviz("run", "--prompt", "x", "--quiet").out == SHOWN


def test_how_a_gguf_file_is_kept_and_computes_is_said_first_but_not_where_the_text_alone_is_wanted(
    specviz: Call, played: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "tiny: kept as Q4_1 blocks, unpacked to bfloat16; computes in float32."
    monkeypatch.setattr("specviz.lm.place.chosen_format", lambda name, device, dtype: said)
    assert said in specviz("run", "--prompt", "x").err
    assert said not in specviz("run", "--prompt", "x", "--quiet").err


def test_json_is_exactly_one_object_with_text_ids_and_summary(specviz: Call, played: Any) -> None:
    result = specviz("run", "--prompt", "x", "--json")
    data = json.loads(result.out)
    assert data["text"] == TEXT
    assert len(data["output_ids"]) == data["summary"]["num_output_tokens"] == 20
    assert data["summary"]["num_accepted_draft_tokens"] == 14
    assert result.out.isascii(), "JSON for machines escapes whatever a terminal could act on"


def test_summary_json_and_replay_name_every_method_of_a_run(
    specviz: Call, played: Any, golden: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = codec.read(golden)
    card = replace(trace.started.verifier, name="bush", options={"branching": [3, 1]})
    started = replace(
        trace.started, tree_policy=card, stop_policy=replace(card, name="doubt", options={"threshold": 0.2})
    )
    data = run_command.as_data(replace(trace, started=started), None)
    assert (data["tree_policy"]["name"], data["stop_policy"]["options"]) == ("bush", {"threshold": 0.2})
    codec.write(replace(trace, started=started), tmp_path / "t.json")
    said = "tree policy bush branching=3,1 · stop policy doubt threshold=0.2 · verifier sequential"
    assert specviz("replay", tmp_path / "t.json").out.count(said) == 2, "in the header and in the summary"
    assert "run with  drafter sample branching=3,2,1 gamma=4" in specviz("run", "--prompt", "x").out
    assert json.loads(specviz("run", "--prompt", "x", "--json").out)["tree_policy"] is None


def test_accepted_tokens_are_coloured_in_a_terminal(terminal: Call, played: Any) -> None:
    shown = terminal("run", "--prompt", "x", "--quiet")
    assert "\x1b[32mreturn\x1b[0m" in shown
    assert re.sub(r"\x1b\[[0-9;]*m", "", shown) == SHOWN


def test_the_trace_is_written_and_passes_check(specviz: Call, played: Any, tmp_path: Path) -> None:
    assert specviz("run", "--prompt", "x", "--trace", tmp_path / "t.json.gz").code == 0
    assert specviz("check", tmp_path / "t.json.gz").code == 0


def test_every_flag_reaches_the_request(specviz: Call, played: Any) -> None:
    specviz(
        "run", "--prompt", "x", "--target", "big", "--drafter", "ngram", "--drafter-model", "small",
        "--verifier", "sequential", "--temperature", "0.5", "--top-k", "3", "--top-p", "0.9", "--seed", "1",
        "--max-new-tokens", "9", "--stop", "a", "--stop", "b", "--dtype", "float32", "--device", "cpu", "--gamma", "2",
        "--verifier-top-k", "5", "--tree-policy", "bush", "--tree-policy-branching", "3", "--stop-policy", "doubt",
        "--stop-policy-threshold", "0.2",
    )  # fmt: skip
    request = played.requests[0]
    seen = (request.prompt, request.target, request.drafter.name, request.drafter_model)
    assert seen == ("x", "big", "ngram", "small")
    assert (request.verifier.name, request.temperature, request.top_k, request.top_p) == ("sequential", 0.5, 3, 0.9)
    assert (request.seed, request.max_new_tokens, request.stop) == (1, 9, ("a", "b"))
    assert (request.dtype, request.device) == ("float32", "cpu")
    assert request.drafter.options == {"gamma": "2"}
    assert request.verifier.options == {"top_k": "5"}, "an option of any method but a drafter carries its kind"
    assert (request.tree_policy.options, request.stop_policy.options) == ({"branching": "3"}, {"threshold": "0.2"})


def test_without_flags_the_request_is_the_documented_default(specviz: Call, played: Any) -> None:
    specviz("run", "--prompt", "x")
    request = played.requests[0]
    seen = (request.drafter.name, request.verifier.name, request.temperature, request.drafter.options)
    assert seen == ("model", "auto", 0, {})


def test_a_flag_of_another_drafter_is_refused_with_its_owner(specviz: Call, played: Any) -> None:
    result = specviz("run", "--prompt", "x", "--drafter", "ngram", "--branching", "3,2")
    assert result.code == 2
    assert result.err == (
        "specviz: --branching belongs to drafter 'model', but 'ngram' was chosen; "
        "leave it out or add --drafter model.\n"
    )
    assert played.requests == []


def test_a_flag_of_another_policy_is_refused_by_its_own_name(specviz: Call, played: Any) -> None:
    result = specviz("run", "--prompt", "x", "--stop-policy-threshold", "0.2")
    assert result.err == (
        "specviz: --stop-policy-threshold belongs to stop policy 'doubt', but 'fixed' was chosen; "
        "leave it out or add --stop-policy doubt.\n"
    )


def test_an_unknown_flag_is_answered_with_those_that_end_like_it(specviz: Call, played: Any) -> None:
    result = specviz("run", "--prompt", "x", "--threshold", "0.2")
    assert result.err.startswith(
        "specviz run: unrecognized arguments: --threshold 0.2; did you mean --stop-policy-threshold?"
    )
    assert "did you mean --prompt?" in specviz("run", "--promt", "x").err


def test_an_unknown_flag_of_an_experiment_is_answered_with_the_experiments_own(specviz: Call) -> None:
    result = specviz("bench", "passes", "--target", "smollm2")
    assert result.code == 2
    assert result.err == (
        "specviz bench passes: unrecognized arguments: --target smollm2; did you mean --targets?; "
        "`specviz bench passes --help` shows the options.\n"
    )


@pytest.mark.parametrize(
    ("role", "option", "flag"),
    [
        ("drafter", "max_ngram", "--max-ngram"),
        ("tree_policy", "budget", "--tree-policy-budget"),
        ("stop_policy", "threshold", "--stop-policy-threshold"),
        ("verifier", "top_k", "--verifier-top-k"),
        ("drafter", "top_k", "--drafter-top-k"),
        ("drafter", "model", "--model"),
        ("drafter", "tree_policy_budget", "--drafter-tree-policy-budget"),
        ("stop_policy", "weights", "--stop-policy-option-weights"),
    ],
)
def test_a_flags_name_depends_on_its_method_and_on_no_other(role: str, option: str, flag: str) -> None:
    """Another drafter's option once renamed the flags of policies."""
    assert flag_of(role, option, own_flags()) == flag


def test_a_shape_that_would_be_ignored_is_refused_with_the_flags_to_use_instead(specviz: Call, played: Any) -> None:
    result = specviz("run", "--prompt", "x", "--tree-policy", "bush", "--gamma", "4")
    assert result.err == (
        "specviz: --gamma is an option of the drafter 'model' for runs without a tree policy, but --tree-policy bush "
        "decides the shape; use --tree-policy-branching instead, or leave --tree-policy out.\n"
    )
    assert specviz("run", "--prompt", "x", "--gamma", "4", "--branching", "3,2").err == (
        "specviz: --gamma does nothing with --branching, which replaces it; leave one of them out.\n"
    )
    assert played.requests == []


def test_a_resumed_runs_own_shape_gives_way_to_a_policy(
    specviz: Call, played: Any, golden: Path, tmp_path: Path
) -> None:
    trace = codec.read(golden)
    drafter = replace(trace.started.drafter, name="model")
    codec.write(replace(trace, started=replace(trace.started, drafter=drafter)), tmp_path / "t.json")
    specviz("run", "--resume", tmp_path / "t.json")
    specviz("run", "--resume", tmp_path / "t.json", "--tree-policy", "bush")
    assert [one.drafter.options for one in played.requests] == [{"branching": [3, 2, 1]}, {}]


def test_prompt_from_standard_input(specviz: Call, played: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("from a pipe"))
    specviz("run", "--prompt", "-")
    assert played.requests[0].prompt == "from a pipe"


def test_prompt_from_a_file_and_from_the_set(specviz: Call, played: Any, tmp_path: Path) -> None:
    path = tmp_path / "p.txt"
    path.write_text("naïve\n", encoding="utf-8")
    specviz("run", "--prompt-file", path)
    specviz("run", "--prompt-id", "mean")
    assert [one.prompt for one in played.requests] == ["naïve\n", "def mean(values):\n"]
    assert [one.prompt_name for one in played.requests] == [None, "mean"]


def test_a_request_that_cannot_run_says_why(specviz: Call, played: Any) -> None:
    played.reason = "greedy judges at temperature 0 alone; choose --verifier sequential."
    result = specviz("run", "--prompt", "x")
    assert (result.code, result.err) == (2, f"specviz: {played.reason}\n")


def test_a_run_that_fails_is_kept_and_reported_with_exit_code_1(specviz: Call, played: Any, tmp_path: Path) -> None:
    played.message = "the context is full."
    result = specviz("run", "--prompt", "x", "--trace", tmp_path / "t.json")
    assert result.code == 1
    assert "the context is full." in result.err
    assert len(codec.read(tmp_path / "t.json").rounds) == 1


def test_an_interrupt_keeps_what_was_computed(
    specviz: Call, played: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C after the second round: the engine is told, ends with `cancelled`, and two rounds are in the trace."""
    shown = run_command._Printer.show
    count = 0

    def interrupt_after_two(printer: Any, step: Any) -> None:
        nonlocal count
        shown(printer, step)
        count += 1
        if count == 3:  # the header and two rounds
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(run_command._Printer, "show", interrupt_after_two)
    before = signal.getsignal(signal.SIGINT)
    result = specviz("run", "--prompt", "x", "--trace", tmp_path / "t.json", "--json")
    assert result.code == 1
    assert json.loads(result.out)["reason"] == "cancelled"
    assert len(codec.read(tmp_path / "t.json").rounds) == 2
    assert signal.getsignal(signal.SIGINT) is before, "the handler is put back"


def test_resume_takes_prompt_and_settings_from_the_trace_and_flags_over_them(
    specviz: Call, played: Any, golden: Path
) -> None:
    result = specviz("run", "--resume", golden, "--round", 2, "--force-token", 5, "--drafter", "none", "--seed", 9)
    assert result.code == 0
    request, resume = played.requests[0], played.resumes[0]
    assert (request.prompt, request.temperature, request.seed) == ("def add(a, b):\n", 1.0, 9)
    assert (request.drafter.name, request.drafter.options) == ("none", {}), "another drafter does not inherit options"
    assert (resume.round, resume.forced_token, resume.trace.started.run_id) == (2, 5, "sample")


def test_tree_and_stop_policy_are_choices_with_options_of_their_own(specviz: Call, played: Any) -> None:
    chosen = "--tree-policy bush --tree-policy-branching 3,1 --stop-policy doubt --stop-policy-threshold 0.2"
    assert specviz("run", "--prompt", "x", *chosen.split()).code == 0
    request = played.requests[0]
    assert (request.tree_policy.name, request.tree_policy.options) == ("bush", {"branching": "3,1"})
    assert (request.stop_policy.name, request.stop_policy.options) == ("doubt", {"threshold": "0.2"})


def test_a_resumed_run_keeps_its_tree_and_stop_policy(golden: Path) -> None:
    started = codec.read(golden).started
    card = replace(started.verifier, name="bush", options={"branching": [3, 1]})
    request = request_of(replace(started, tree_policy=card, stop_policy=replace(card, name="doubt", options={})))
    assert (request.tree_policy.name, request.tree_policy.options) == ("bush", {"branching": [3, 1]})
    assert (request.stop_policy.name, request.stop_policy.options) == ("doubt", {})
    assert request_of(started).tree_policy.name == "auto"


def test_resume_refuses_a_prompt_and_a_round_that_is_not_there(specviz: Call, played: Any, golden: Path) -> None:
    assert "leave --prompt" in specviz("run", "--resume", golden, "--prompt", "x").err
    assert "continued from 0 to 8" in specviz("run", "--resume", golden, "--round", 9).err


def test_help_shows_every_option_of_every_method(specviz: Call, played: Any) -> None:
    shown = specviz("run", "--help").out
    assert all(flag in shown for flag in ("--gamma", "--branching", "--max-ngram", "--verifier-top-k"))


def test_a_resumed_trace_that_names_an_option_without_effect_goes_on_without_it_and_says_so(
    specviz: Call, played: Any, golden: Path, tmp_path: Path
) -> None:
    trace = codec.read(golden)
    card = replace(trace.started.drafter, name="model", options={"gamma": 9, "branching": [2, 1]})
    codec.write(replace(trace, started=replace(trace.started, drafter=card)), tmp_path / "old.json")
    done = specviz("run", "--resume", tmp_path / "old.json")
    assert played.requests[-1].drafter.options == {"branching": [2, 1]}
    assert "The trace's option gamma of 'model' is left out: branching replaces it." in done.err


def test_a_prompt_that_was_made_for_an_instruct_model_is_a_message_to_it(
    specviz: Call, played: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog = played.catalog()
    card = PromptCard("week", "list", "Week", "The days.", "List the days.")
    real = ModelPair("real", "Real", ("real", "owner/real"), "", True, (), "none", (card,), ())
    monkeypatch.setattr(type(played), "catalog", lambda self: replace(catalog, pairs=(real,)))
    specviz("run", "--prompt-id", "week")
    specviz("run", "--prompt-id", "week", "--target", "owner/real")
    specviz("run", "--prompt-id", "week", "--target", "target")
    specviz("run", "--prompt-id", "mean")
    asked = [("real", True), ("owner/real", True), ("target", False), ("target", False)]
    assert [(request.target, request.chat) for request in played.requests] == asked
