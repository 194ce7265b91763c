"""The command line's root: finds the command, runs it, turns errors into sentences and exit codes.

Place in the flow: the root of everything that is started, the page included. Exit codes: 0 done, 1 a check or a run
failed or was stopped, 2 wrong usage or input. A command's module is imported only when it is asked for, so that
`specviz --help`, `check` and `replay` start without loading torch.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import importlib
import os
import pkgutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, TextIO

from specviz.cli import commands
from specviz.cli.terminal import printable
from specviz.errors import SpecVizError


def _commands() -> Iterator[tuple[str, str]]:
    """Name and sentence of each command, read without importing it: of a module whose docstring begins with its name,
    as in "`specviz run`: …", the rest of that line."""
    folder = Path(commands.__path__[0])
    for module in pkgutil.iter_modules([str(folder)]):
        file = folder / module.name / "__init__.py" if module.ispkg else folder / f"{module.name}.py"
        said = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
        title, _, sentence = said.partition("\n")[0].partition(": ")
        if title == f"`specviz {module.name}`":
            yield module.name, sentence.rstrip(".")


COMMANDS: Mapping[str, str] = dict(_commands())
"""name → one line for `specviz --help`; the module is `specviz.cli.commands.<name>`. Modules there that are no command
of their own, such as `prove_experiments`, belong to one"""

EXTRA_OF: Mapping[str, str] = {
    **dict.fromkeys(("torch", "transformers", "tokenizers", "safetensors", "psutil", "greenlet"), "engine"),
    **dict.fromkeys(("gradio", "plotly", "yaml"), "app"),
    "matplotlib": "train",
    "pandas": "analysis",
    "llama_cpp": "llama-cpp",
}
"""module that a smaller installation lacks → the extra that brings it"""

DONE, FAILED, WRONG = 0, 1, 2
LONGEST_USAGE = 400
"""characters of what is wrong with the arguments, which may be a whole prompt"""


class Parser(argparse.ArgumentParser):
    """Reports wrong usage as one sentence with the cure, exit code 2."""

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """As argparse does, but each command refuses what it does not know itself, with its own flags in mind."""
        known, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}", self._suggestion(unknown))
        return known, unknown

    def error(self, message: str, cure: str = "") -> NoReturn:
        said = message if len(message) <= LONGEST_USAGE else f"{message[:LONGEST_USAGE]}…"
        sentence = printable(said + cure, keep="").rstrip(".")
        self.exit(WRONG, f"{self.prog}: {sentence}; `{self.prog} --help` shows the options.\n")

    def _suggestion(self, unknown: Sequence[str]) -> str:
        """The flags that end or begin like the first of these that is one, as a question."""
        wrong = next((word.partition("=")[0] for word in unknown if word.startswith("--")), "")
        if not wrong:
            return ""
        known = sorted(self._option_string_actions)
        alike = [flag for flag in known if flag.endswith(wrong[1:])]
        alike = alike or difflib.get_close_matches(wrong, known, n=1)
        return f"; did you mean {' or '.join(alike)}?" if alike else ""


def build_parser(configured: Sequence[str]) -> argparse.ArgumentParser:
    """The root parser; only the commands named in `configured` get their options (and their imports)."""
    from specviz.version import __version__

    parser = Parser(
        prog="specviz",
        description="Speculative decoding, step by step: run it, check it, replay it, measure it.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"specviz {__version__}")
    chosen = parser.add_subparsers(dest="chosen_command", metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        sub = chosen.add_parser(
            name, help=summary, description=summary[0].upper() + summary[1:] + ".", allow_abbrev=False
        )
        if name in configured:
            importlib.import_module(f"specviz.cli.commands.{name}").configure(sub)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code, never raises SystemExit."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    _never_fail_to_encode(sys.stdout, sys.stderr)
    try:
        chosen = [argument for argument in arguments if not argument.startswith("-")][:1]
        args = build_parser([one for one in chosen if one in COMMANDS]).parse_args(arguments)
        return int(importlib.import_module(f"specviz.cli.commands.{args.chosen_command}").run(args))
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else DONE if stop.code is None else WRONG
    except SpecVizError as error:
        return _complain(str(error), WRONG)
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in EXTRA_OF:
            raise
        return _complain(
            f"this needs {missing}, which is not installed: pip install 'specviz[{EXTRA_OF[missing]}]'.", WRONG
        )
    except KeyboardInterrupt:
        return _complain("stopped.", FAILED)
    except BrokenPipeError:
        # The reader went away (`specviz run … | head`): what is still buffered has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except OSError as error:
        where = f" '{error.filename}'" if error.filename else ""
        return _complain(f"cannot use{where}: {error.strerror or error}; check the path and its permissions.", WRONG)


def _complain(sentence: str, code: int) -> int:
    print(f"specviz: {printable(sentence, keep='')}", file=sys.stderr)
    return code


def _never_fail_to_encode(*streams: TextIO) -> None:
    """A terminal that cannot show a character gets its escape, not a traceback."""
    for stream in streams:
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


if __name__ == "__main__":
    sys.exit(main())
