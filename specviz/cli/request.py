"""The arguments of `run` as a `RunRequest`: flags over a resumed trace's settings over the defaults.

Place in the flow: between argparse and the trace source.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from specviz.cli.method_flags import check_shape, read_flags
from specviz.cli.terminal import err
from specviz.errors import OptionError, PromptError
from specviz.options import idle_among
from specviz.protocol.choice import STANDARD, Choice
from specviz.protocol.pairs import all_prompts
from specviz.protocol.prompt_file import read_prompts
from specviz.protocol.runs import Catalog, MethodDescription, PromptCard, Resume, RunRequest, request_of

PLAIN = (
    "target", "drafter", "drafter_model", "tree_policy", "stop_policy", "memory", "memory_file", "datastore",
    "verifier", "chat", "scene", "temperature", "top_k", "top_p", "seed", "max_new_tokens", "dtype", "device", "top",
)  # fmt: skip
"""fields of RunRequest that a flag sets"""
FIELDS = {"--tree-policy": "tree_policy", "--stop-policy": "stop_policy"}
"""flags that are called otherwise than their field"""


def add_flags(parser: argparse.ArgumentParser) -> None:
    """The flags of `RunRequest`; those not given stay None, so that a resumed trace's settings can show through."""
    default = {field.name: field.default for field in fields(RunRequest)}
    default |= {role: choice.name for role, choice in STANDARD.items()}
    add_prompt_flags(parser)

    def add(flag: str, kind: type, metavar: str, text: str) -> None:
        name = FIELDS.get(flag, flag[2:].replace("-", "_"))
        parser.add_argument(flag, dest=name, type=kind, metavar=metavar, help=f"{text} (default {default[name]})")

    add("--target", str, "NAME", "the model to decode with: a bundled name, a local folder or a hub id")
    add("--drafter", str, "NAME", "how continuations are drafted; `specviz list drafters` shows them")
    add("--drafter-model", str, "NAME", "weights of a drafter that has a model of its own")
    add("--tree-policy", str, "NAME", "how the drafter's trees grow; auto: as the drafter's own options say")
    add("--stop-policy", str, "NAME", "when a draft ends early; `specviz list stop_policies` shows how")
    add("--memory", str, "WORD", "what a drafter that learns begins with: cold, warm (from earlier runs) or reset")
    add("--memory-file", str, "FILE", "holds that memory between commands: read if there, written after the run")
    parser.add_argument(
        "--stop-policy-weights",
        dest="stop_policy_weights",
        metavar="FILE",
        type=Path,
        help="weights of a stop policy that learns (`specviz learn`)",
    )
    add("--datastore", str, "FILE", "what a drafter retrieves from; empty: that of the target in the user's cache")
    add("--verifier", str, "NAME", "how drafts are judged; auto: greedy at temperature 0, sequential above")
    add("--temperature", float, "T", "0 decodes greedily")
    add("--top-k", int, "K", "sample from the K most probable tokens; 0 is off")
    add("--top-p", float, "P", "sample from the smallest set of tokens with mass P; 1 is off")
    add("--seed", int, "S", "the same seed gives the same run")
    add("--max-new-tokens", int, "N", "stop after N tokens")
    parser.add_argument("--stop", action="append", metavar="TEXT", help="stop where TEXT appears; may be repeated")
    parser.add_argument(
        "--chat",
        action="store_const",
        const=True,
        help="the prompt is a message to an instruct model: use its template",
    )
    add("--scene", str, "TEXT", "the picture for a target that sees one, like 'large red circle at 8,8'; none")
    add("--dtype", str, "D", "number format of the weights: auto, float32, bfloat16")
    add_device_flags(parser, str(default["device"]))
    add("--top", int, "N", "how many tokens of each distribution the trace keeps")


def add_device_flags(parser: argparse.ArgumentParser, default: str) -> None:
    """Where the models go: one device, or for a target that fits none several devices or processes."""
    devices = parser.add_mutually_exclusive_group()
    devices.add_argument("--device", metavar="DEV", help=f"auto, cpu, cuda or mps (default {default})")
    devices.add_argument(
        "--no-graphs",
        dest="device",
        action="store_const",
        const="eager:auto",
        help="on a CUDA device launch every kernel by itself (`--device eager:cuda`) and replay no graphs",
    )
    devices.add_argument(
        "--device-map",
        dest="device",
        type="map:{}".format,
        metavar="MAP",
        help="put the target's layers on several devices: auto, balanced, sequential, or module → device as JSON",
    )
    devices.add_argument(
        "--tp",
        dest="device",
        type="tp:{}".format,
        metavar="auto",
        help="cut the target's matrices over the processes of torchrun",
    )


def add_prompt_flags(parser: argparse.ArgumentParser) -> None:
    """The three ways to name a text, of which one is given."""
    prompt = parser.add_mutually_exclusive_group()
    prompt.add_argument("--prompt", metavar="TEXT", help="the text to continue; - reads standard input")
    prompt.add_argument(
        "--prompt-file", metavar="FILE", type=Path, help="a UTF-8 file to continue; - reads standard input"
    )
    prompt.add_argument(
        "--prompt-id", metavar="ID", help="a prompt of the bundled set; `specviz list prompts` shows them"
    )
    parser.add_argument(
        "--own-prompts",
        metavar="FILE.jsonl",
        type=Path,
        help="with --prompt-id: your own prompts in place of the bundled set",
    )


def build_request(args: argparse.Namespace, catalog: Catalog, resume: Resume | None) -> RunRequest:
    """Raises PromptError where there is no prompt or two, OptionError for flags that do not belong together."""
    base = _base(args, catalog, resume)
    named = {name: getattr(args, name) for name in PLAIN if getattr(args, name) is not None}
    given: dict[str, Any] = {name: value for name, value in named.items() if name not in STANDARD}
    if args.stop is not None:
        given["stop"] = tuple(args.stop)
    if args.stop_policy_weights is not None:
        given["stop_policy_weights"] = read_weights(args.stop_policy_weights)
    for role, methods in _roles(catalog):
        before: Choice = getattr(base, role)
        name = named.get(role, before.name)
        kept = before.options if name == before.name else {}
        given[role] = Choice(name, {**kept, **read_flags(args, role, name, methods)})
    request = replace(base, **given)
    return _without_shape(args, request, catalog)


def _without_shape(args: argparse.Namespace, request: RunRequest, catalog: Catalog) -> RunRequest:
    """The request, where a tree policy is chosen, without the shape that a resumed trace's drafter had of its own.

    Raises OptionError where a flag asks for such a shape.
    """
    tree_policy = next(
        (
            method_description
            for method_description in catalog.tree_policies
            if method_description.name == request.tree_policy.name
        ),
        None,
    )
    drafter = next((one for one in catalog.drafters if one.name == request.drafter.name), None)
    if tree_policy is None or drafter is None:
        return request
    check_shape(args, drafter, tree_policy)
    shape = {option.name for option in drafter.options if option.shape}
    kept = {name: value for name, value in request.drafter.options.items() if name not in shape}
    return replace(request, drafter=replace(request.drafter, options=kept))


def _roles(catalog: Catalog) -> list[tuple[str, tuple[MethodDescription, ...]]]:
    """The choices of a run that have options of their own, and what can be chosen."""
    return [
        ("drafter", catalog.drafters),
        ("tree_policy", catalog.tree_policies),
        ("stop_policy", catalog.stop_policies),
        ("verifier", catalog.verifiers),
    ]


def _base(args: argparse.Namespace, catalog: Catalog, resume: Resume | None) -> RunRequest:
    if resume is None:
        return prompted(args, catalog)
    if read_prompt(args) is not None or args.prompt_id:
        raise OptionError(
            "--resume continues the trace's own prompt; leave --prompt, --prompt-file and --prompt-id out."
        )
    return _without_idle(request_of(resume.trace.started), catalog)


def _without_idle(request: RunRequest, catalog: Catalog) -> RunRequest:
    """A trace's request without the options that the others make useless, each of them said. Flags that are given
    are not touched: they are refused where they do nothing."""
    for role, methods in _roles(catalog):
        choice: Choice = getattr(request, role)
        method = next((one for one in methods if one.name == choice.name), None)
        given = choice.options
        has_policy = role == "drafter" and any(
            method_description.name == request.tree_policy.name for method_description in catalog.tree_policies
        )
        idle = idle_among(method.options, given, has_policy) if method is not None else {}
        default = {option.name: option.default for option in method.options} if method is not None else {}
        for name, why in idle.items():
            if given[name] != default[name]:
                err().line(f"The trace's option {name} of '{choice.name}' is left out: {why}.")
        kept: dict[str, Any] = {role: replace(choice, options={one: given[one] for one in given if one not in idle})}
        request = replace(request, **kept)
    return replace(request, recorded=False)


def prompted(args: argparse.Namespace, catalog: Catalog) -> RunRequest:
    """The default request on the given prompt. Raises PromptError where there is none."""
    text = read_prompt(args)
    if args.own_prompts is not None and not args.prompt_id:
        raise PromptError("--own-prompts needs --prompt-id, which says which of them to continue.")
    if args.prompt_id:
        own = None if args.own_prompts is None else read_prompts(args.own_prompts)
        if own is not None and args.prompt_id not in {one.id for one in own}:
            raise PromptError(f"there is no prompt '{args.prompt_id}' in {args.own_prompts.name}.")
        card = prompt_card(catalog if own is None else replace(catalog, prompts=own, pairs=()), args.prompt_id)
        return _as_its_pair(RunRequest(prompt=card.text, prompt_name=card.id), card, args.target, catalog)
    if text is None and getattr(args, "scene", None):
        return RunRequest(prompt="")  # a picture alone begins a caption
    if text is None:
        raise PromptError("there is no prompt; give --prompt TEXT, --prompt-file FILE or --prompt-id ID.")
    return RunRequest(prompt=text)


def _as_its_pair(request: RunRequest, card: PromptCard, target: str | None, catalog: Catalog) -> RunRequest:
    """A prompt that was made for an instruct model is a message to it; `target`: the one that was asked for, if any."""
    pair = next((pair for pair in catalog.pairs if pair.chat and card in pair.prompts), None)
    if pair is None or not (target is None or target in pair.targets):
        return request
    return replace(request, target=target or pair.target, chat=True)


def prompt_card(catalog: Catalog, name: str) -> PromptCard:
    """Raises PromptError where the set holds no such prompt."""
    card = next((prompt for prompt in all_prompts(catalog) if prompt.id == name), None)
    if card is None:
        raise PromptError(f"there is no prompt '{name}' in the set; `specviz list prompts` shows the ids.")
    return card


def read_prompt(args: argparse.Namespace) -> str | None:
    """The text of --prompt or --prompt-file; `-` is standard input, read to its end."""
    if args.prompt == "-" or (args.prompt_file is not None and str(args.prompt_file) == "-"):
        return sys.stdin.read()
    if args.prompt_file is None:
        return args.prompt if args.prompt is None else str(args.prompt)
    try:
        return str(args.prompt_file.read_text(encoding="utf-8"))
    except OSError as error:
        raise PromptError(f"cannot read '{args.prompt_file}' ({error.strerror}); check the path.") from None
    except UnicodeDecodeError:
        raise PromptError(f"'{args.prompt_file}' is not UTF-8 text; convert it first.") from None


def read_weights(path: Path) -> dict[str, Any]:
    """A JSON object. Raises OptionError; whether it holds weights is for the stop policy to say."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise OptionError(f"cannot read weights from '{path}' ({error}); `specviz learn` writes such files.") from None
    if not isinstance(data, dict):
        raise OptionError(f"'{path}' holds no weights; `specviz learn` writes such files.")
    return data


def read_resume(args: argparse.Namespace) -> Resume | None:
    """--resume, --round and --force-token. Raises OptionError where they do not fit together or the trace."""
    if args.resume is None:
        if args.round is not None or args.force_token is not None:
            raise OptionError("--round and --force-token need --resume TRACE; add it or leave them out.")
        return None
    from specviz.trace import codec

    trace = codec.read(args.resume)
    index = 0 if args.round is None else args.round
    if not 0 <= index <= len(trace.rounds):
        raise OptionError(f"--round is {index}, but this trace can be continued from 0 to {len(trace.rounds)}.")
    return Resume(trace, index, args.force_token)
