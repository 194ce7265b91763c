"""`specviz space`: make a Hugging Face Space of SpecViz and send it there.

Place in the flow: `specviz.app.space` writes the folder, `huggingface_hub` sends it, with the token that it finds
(`hf auth login`, or HF_TOKEN).
"""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING

from specviz.errors import SpecVizError
from specviz.scratch import scratch

if TYPE_CHECKING:
    from huggingface_hub.errors import HfHubHTTPError

    from specviz.app.space import SpaceFolder

KINDS = ("zero", "cpu", "static")
TOKEN_PAGE = "https://huggingface.co/settings/tokens"


class SpaceError(SpecVizError):
    """A Space could not be made or filled."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "kind",
        metavar="KIND",
        type=str.lower,
        choices=KINDS,
        help="zero (a GPU that is lent for seconds), cpu (two cores) or static (files alone): docs/space.md",
    )
    parser.add_argument("--to", metavar="OWNER/NAME", required=True, help="the Space; it is made where there is none")
    parser.add_argument("--out", type=Path, metavar="DIR", help="write the folder there, new or empty, and keep it")
    parser.add_argument("--private", action="store_true", help="a new Space is for its owner alone")
    parser.add_argument("--dry-run", action="store_true", help="write the folder, say what would be sent, send nothing")


def run(args: argparse.Namespace) -> int:
    from specviz.app.space import summary, write_space

    folder = write_space(args.kind, args.to, args.out or Path(mkdtemp(prefix="space-", dir=scratch())))
    print("\n".join(summary(folder, args.to)))
    if args.dry_run:
        print("Nothing was sent (--dry-run).")
        return 0
    print(f"Sent: {send(folder, args.to, args.private)}")
    return 0


def send(folder: SpaceFolder, space: str, private: bool = False) -> str:
    """Make the Space where there is none, and make its files those of the folder, in one commit; its address. Raises
    SpaceError with a sentence."""
    from huggingface_hub import HfApi, errors

    from specviz.app.page.settings import card_of

    card = card_of(folder.kind, space)
    hub = HfApi()
    try:
        hub.create_repo(
            space,
            repo_type="space",
            space_sdk=card["sdk"],
            space_hardware=card.get("suggested_hardware"),
            private=private or None,
            exist_ok=True,
        )
        hub.upload_folder(
            repo_id=space,
            repo_type="space",
            folder_path=folder.path,
            delete_patterns="*",
            commit_message=f"SpecViz, a Space of the kind {folder.kind}",
        )
    except errors.HfHubHTTPError as error:
        raise SpaceError(_sentence(space, folder.kind, error)) from error
    except errors.LocalTokenNotFoundError:
        raise SpaceError(
            f"the hub asks who you are; `hf auth login` stores a token that may write ({TOKEN_PAGE})."
        ) from None
    except (errors.HTTPError, OSError) as error:  # type: ignore[attr-defined]  # the client's own library has it
        raise SpaceError(
            f"the hub at {hub.endpoint} cannot be reached ({type(error).__name__}); check the network and send it "
            "again: what has arrived is not sent twice."
        ) from error
    return f"{hub.endpoint}/spaces/{space}"


def _sentence(space: str, kind: str, error: HfHubHTTPError) -> str:
    """What the hub has against it, and what to do."""
    status = error.response.status_code
    said = " ".join((error.server_message or "").split())[:200]
    why = f"HTTP {status}: {said}" if said else f"HTTP {status}"
    if status == 401:
        return f"the hub does not know you ({why}); `hf auth login` stores a token that may write ({TOKEN_PAGE})."
    if status in (402, 403):
        paid = "a Space with its own processor needs a paid plan: try zero or static"
        cure = paid if kind == "cpu" else "docs/space.md says which account may have what"
        refused = f"your account may not make or change the Space {space} ({why})"
        return f"{refused}; its token must be one that writes, and {cure}."
    return f"the hub refused the Space {space} ({why}); try again later."
