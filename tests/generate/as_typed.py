"""A run as one would type it: the settings of a recording as a `specviz run` command.

Place in the flow: the list of systems writes its commands with it; a test gives them back to the command line.
"""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from specviz.cli.commands.run import own_flags
from specviz.cli.method_flags import flag_of
from specviz.cli.printed_run import option_text
from specviz.cli.request import FIELDS, PLAIN
from specviz.trace.events import Option

ROLES = {
    "options": "drafter",
    "tree_policy_options": "tree_policy",
    "stop_policy_options": "stop_policy",
    "verifier_options": "verifier",
}
"""where a recording keeps a method's options → the kind of method"""


def command(settings: Mapping[str, Any]) -> str:
    """`specviz run …` of an entry of assets/traces/recordings.toml."""
    prompt = ["--prompt-id", str(settings["prompt"])] if "prompt" in settings else []
    words = ["specviz", "run", *prompt, *_words(settings)]
    return shlex.join(words)


def _words(settings: Mapping[str, Any]) -> Iterator[str]:
    flags = {field: flag for flag, field in FIELDS.items()}
    for field in PLAIN:
        if field in settings:
            yield from (flags.get(field, "--" + field.replace("_", "-")), option_text(settings[field]))
    for place, role in ROLES.items():
        yield from _options(role, settings.get(place, {}), own_flags())


def _options(role: str, options: Mapping[str, Option], own: Sequence[str]) -> Iterator[str]:
    for name, value in options.items():
        yield from (flag_of(role, name, own), option_text(value))
