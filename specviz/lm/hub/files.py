"""Files of a checkpoint on the Hugging Face hub, brought to the local cache; what went wrong there, told apart.

Place in the flow: `place` asks for names that are hub ids.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Sequence
from pathlib import Path

from specviz.errors import ModelError

HUB_ID = re.compile(r"([A-Za-z0-9][\w.-]*/[\w.-]+?)(?:@([\w./-]+))?")
"""owner/model, and after an @ a branch, tag or commit"""
TOKEN_PAGE = "https://huggingface.co/settings/tokens"
FULL = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)}
"""no space left, or none of the quota"""


def is_hub_id(name: str) -> bool:
    """Whether a name can be one: owner/model or owner/model@revision."""
    return HUB_ID.fullmatch(name) is not None


def from_hub(name: str, patterns: Sequence[str]) -> Path:
    """Download the files of a hub checkpoint that match, or find them in the local cache; their folder.

    Without a revision after an @ it is the newest. Raises ModelError, which says what is wrong and what to do.
    """
    from huggingface_hub import snapshot_download

    match = HUB_ID.fullmatch(name)
    assert match is not None, f"'{name}' is no hub id."
    repository, revision = match.groups()
    offline = os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}
    try:
        folder = snapshot_download(
            repository, revision=revision, allow_patterns=list(patterns), local_files_only=offline
        )
    except (OSError, ValueError, RuntimeError) as error:
        raise ModelError(_sentence(repository, revision, offline, error)) from error
    return Path(folder)


def _sentence(repository: str, revision: str | None, offline: bool, error: Exception) -> str:
    """What happened and the cure. The hub's exceptions wrap each other, so all that stand behind one are asked."""
    from huggingface_hub.errors import OfflineModeIsEnabled

    chain = _chain(error)
    told = _of_this_machine(repository, chain) or _of_the_hub(repository, revision, chain)
    if told is not None:
        return told
    if offline or any(isinstance(one, OfflineModeIsEnabled) for one in chain):
        return (
            f"{repository} is not in the local hub cache, or not all of it, and HF_HUB_OFFLINE forbids to download it; "
            "unset HF_HUB_OFFLINE, or name a bundled model or a folder."
        )
    if isinstance(error, ValueError):
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__).rstrip(".")
        return f"'{repository}' cannot be a hub id ({reason}); write it as owner/model."
    return (
        f"{repository} is not in the local hub cache and the hub cannot be reached ({type(chain[-1]).__name__}); check "
        "the network, or name a bundled model or a folder."
    )


def _of_this_machine(repository: str, chain: Sequence[BaseException]) -> str | None:
    """What the disk has against it."""
    from huggingface_hub import constants

    failed = [one.errno for one in chain if isinstance(one, OSError)]
    if any(number in FULL for number in failed):
        return (
            f"the disk is full, so {repository} could not be kept in {constants.HF_HUB_CACHE}; free some space, or set "
            "HF_HOME to a folder on another disk."
        )
    if any(isinstance(one, PermissionError) for one in chain):
        return (
            f"{repository} could not be kept, because {constants.HF_HUB_CACHE} may not be written to; set HF_HOME to a "
            "folder of your own."
        )
    return None


def _of_the_hub(repository: str, revision: str | None, chain: Sequence[BaseException]) -> str | None:
    """What the hub has against it; None where it said nothing."""
    from huggingface_hub import errors, get_token

    page, has_token = f"https://huggingface.co/{repository}", bool(get_token())
    kind = next((one for one in chain if isinstance(one, errors.HfHubHTTPError)), None)
    if kind is None:
        return None
    status = kind.response.status_code
    if isinstance(kind, errors.GatedRepoError):
        also = "" if has_token else f", and set HF_TOKEN to a token of your account ({TOKEN_PAGE})"
        return f"{repository} is gated; accept its licence on {page}{also}, then try again."
    if isinstance(kind, errors.RevisionNotFoundError):
        return f"{repository} has no revision '{revision or 'main'}'; {page}/tree/main lists its branches and tags."
    if isinstance(kind, errors.RepositoryNotFoundError):
        why = "the token in use may not see it" if has_token else "it is private"
        cure = "use a token that may" if has_token else f"set HF_TOKEN ({TOKEN_PAGE})"
        return f"there is no {repository} on the hub, or {why}; check the spelling, or {cure}."
    if status == 401 and has_token:
        return f"the hub does not accept the token in use; set HF_TOKEN to a new one ({TOKEN_PAGE}), or unset it."
    if status in (401, 403):
        return (
            f"the hub does not let you read {repository} (HTTP {status}); set HF_TOKEN to a token that may "
            f"({TOKEN_PAGE}), or ask its owner on {page}."
        )
    return f"the hub answered for {repository} with HTTP {status}; that is its own trouble, try again later."


def _chain(error: BaseException) -> list[BaseException]:
    """The error, and what it was raised from, nearest first."""
    found: list[BaseException] = []
    following: BaseException | None = error
    while following is not None and following not in found:
        found.append(following)
        following = following.__cause__ or following.__context__
    return found
