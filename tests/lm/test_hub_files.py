"""Checkpoints of the hub: which revision is asked for, and what went wrong there, each with its own cure. No network:
the hub's own exceptions are raised in place of its answers."""

import errno

import huggingface_hub
import pytest
from huggingface_hub import errors

from specviz.errors import ModelError
from specviz.lm.hub.files import from_hub, is_hub_id
from specviz.lm.place import locate

try:
    import httpx2 as httpx
except ImportError:  # releases of huggingface_hub before 2
    import httpx


def answer(kind: type[errors.HfHubHTTPError], status: int) -> errors.HfHubHTTPError:
    request = httpx.Request("GET", "https://huggingface.co/api/models/some/model")
    return kind("the hub's words", response=httpx.Response(status, request=request))


def wrapped(inner: Exception) -> Exception:
    outer = errors.LocalEntryNotFoundError("not found on the local disk")
    outer.__cause__ = inner
    return outer


@pytest.fixture
def hub(monkeypatch):
    """hub(error) makes every download fail so; hub() notes what is asked for."""
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    asked: list[dict[str, object]] = []

    def set_up(error: Exception | None = None, token: str | None = None):
        def download(repository: str, **wanted: object) -> str:
            asked.append({"repository": repository, **wanted})
            if error is not None:
                raise error
            return "/cache/some"

        monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
        monkeypatch.setattr(huggingface_hub, "get_token", lambda: token)
        return asked

    return set_up


def test_what_follows_an_at_sign_is_the_revision(hub):
    asked = hub()
    from_hub("some/model@v1.0", ("*.json",))
    from_hub("some/model", ("*.json",))
    assert [(one["repository"], one["revision"]) for one in asked] == [("some/model", "v1.0"), ("some/model", None)]


def test_a_branch_may_hold_a_slash():
    assert is_hub_id("some/model@refs/pr/3")
    assert not is_hub_id("some/model/deeper")
    assert not is_hub_id("some/model@")


@pytest.mark.parametrize(
    ("error", "token", "sentence"),
    [
        (
            answer(errors.GatedRepoError, 403),
            None,
            r"is gated; accept its licence on https://huggingface.co/some/model, and set HF.*tokens\)",
        ),
        (answer(errors.GatedRepoError, 403), "hf_x", r"accept its licence on \S+/some/model, then try again"),
        (answer(errors.RepositoryNotFoundError, 401), None, r"there is no some/model on the hub, or it is private"),
        (answer(errors.RepositoryNotFoundError, 404), "hf_x", r"or the token in use may not see it"),
        (answer(errors.RevisionNotFoundError, 404), None, r"has no revision 'main'; \S+/tree/main lists"),
        (answer(errors.HfHubHTTPError, 401), "hf_x", r"does not accept the token in use; set HF_TOKEN"),
        (answer(errors.HfHubHTTPError, 403), None, r"does not let you read some/model \(HTTP 403\); set"),
        (wrapped(answer(errors.HfHubHTTPError, 503)), None, r"answered for some/model with HTTP 503; .* again later"),
        (wrapped(httpx.ConnectError("no route")), None, r"cannot be reached \(ConnectError\); check the network"),
        (wrapped(errors.OfflineModeIsEnabled()), None, r"not in the local hub cache.*unset HF_HUB_OFFLINE"),
        (OSError(errno.ENOSPC, "no space"), None, r"the disk is full, so some/model could not be kept in .* HF_HOME"),
        (PermissionError(errno.EACCES, "denied"), None, r"may not be written to; set HF_HOME to a folder of your own"),
        (errors.HFValidationError("Repo id is odd."), None, r"cannot be a hub id \(Repo id is odd\); write it"),
    ],
)
def test_each_trouble_has_its_own_sentence_and_cure(hub, error, token, sentence):
    hub(error, token)
    with pytest.raises(ModelError, match=sentence):
        from_hub("some/model", ("*.json",))


def test_a_forbidden_network_is_said_even_where_the_cache_holds_a_part(hub, monkeypatch):
    hub(errors.LocalEntryNotFoundError("incomplete"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(
        ModelError, match=r"some/model is not in the local hub cache, or not all of it.*unset HF_HUB_OFF"
    ):
        from_hub("some/model", ("*.json",))


def test_a_name_that_is_nothing_says_how_a_revision_is_written():
    with pytest.raises(ModelError, match="owner/model or owner/model@revision"):
        locate("some/model@")
