"""Links that carry a run: a request as a short text for an address, and the hash of what it wrote.

The page writes such links in the browser (`assets/js/player/address.js`) and its server reads them; whoever runs
SpecViz from Python can write one too. A link comes from strangers: what is read here is bounded and typed, and nothing
is trusted beyond that.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from specviz.errors import OptionError
from specviz.protocol.choice import STANDARD, Choice, renamed
from specviz.protocol.runs import RunRequest

MOST_CHARACTERS = 16_000
MOST_BYTES = 200_000
"""of the JSON text in a link; a few characters of deflate could hold far more"""
DTYPES = ("auto", "float64", "float32", "bfloat16", "float16")
_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "prompt": str, "target": str, "drafter_model": str, "temperature": (int, float), "top_k": int,
    "top_p": (int, float), "seed": int, "max_new_tokens": int, "stop": list, "scene": str, "dtype": str, "chat": bool,
}  # fmt: skip
"""what a link may hold beside the four choices, by the names of `RunRequest`; files and memories of one machine are
no part of it"""


def pack(data: object) -> str:
    """Plain data as a text for an address: JSON, deflated, base64url without padding."""
    deflate = zlib.compressobj(9, wbits=-15)
    packed = deflate.compress(json.dumps(data, separators=(",", ":"), ensure_ascii=False).encode()) + deflate.flush()
    return base64.urlsafe_b64encode(packed).decode("ascii").rstrip("=")


def unpack(text: str) -> Any:
    """What `pack` was given. Raises OptionError where the text is none of its."""
    broken = OptionError("this link is cut or changed: what it carries cannot be read; ask for it again.")
    if len(text) > MOST_CHARACTERS:
        raise OptionError(f"this link carries {len(text):,} characters, but at most {MOST_CHARACTERS:,} are read.")
    try:
        inflate = zlib.decompressobj(wbits=-15)
        packed = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        content = inflate.decompress(packed, MOST_BYTES)
        if not inflate.eof:
            raise broken
        return json.loads(content.decode())
    except (ValueError, binascii.Error, zlib.error, RecursionError):
        raise broken from None


def pack_request(request: RunRequest) -> str:
    """The request as a text for an address; what belongs to one machine alone is left out."""
    names = [field.name for field in fields(request) if field.name in {**STANDARD, **_TYPES}]
    return pack({name: as_data(getattr(request, name)) for name in names})


def as_data(value: object) -> object:
    """A field of a request as plain data: a choice as `{"name": …, "options": {…}}`."""
    return {"name": value.name, "options": dict(value.options)} if isinstance(value, Choice) else value


def read_request(text: str) -> RunRequest:
    """The request of a link; what it leaves out is as on the command line. Raises OptionError with one sentence."""
    data = unpack(text)
    if not isinstance(data, dict) or "prompt" not in data:
        raise OptionError("this link carries no run; ask for it again.")
    given = renamed(data)
    read = {name: _value(name, value) for name, value in given.items() if name in _TYPES}
    read |= {role: _choice(role, given) for role in STANDARD if role in given or f"{role}_options" in given}
    return RunRequest(**read)


def _choice(role: str, given: Mapping[str, Any]) -> Choice:
    """One of a link's choices; earlier releases gave its name and its options apart."""
    value = given.get(role, STANDARD[role].name)
    name, options = (value.get("name"), value.get("options")) if isinstance(value, dict) else (value, None)
    if options is None:
        options = given.get(f"{role}_options", {})
    if not isinstance(name, str):
        raise _refused(role, value)
    if not isinstance(options, dict) or not all(map(_is_option, options.values())):
        raise _refused(f"{role}_options", options)
    return Choice(name, options)


def _refused(name: str, value: object) -> OptionError:
    return OptionError(f"this link names {name} as {str(value)[:40]!r}, which it cannot be; ask for it again.")


def _value(name: str, value: object) -> Any:
    right = isinstance(value, _TYPES[name]) and isinstance(value, bool) == (_TYPES[name] is bool)
    if isinstance(value, list):
        right = all(isinstance(one, str) for one in value)
    if name == "dtype" and value not in DTYPES:
        right = False
    if not right:
        raise _refused(name, value)
    return tuple(value) if isinstance(value, list) else value


def _is_option(value: object) -> bool:
    """Whether a value can be that of a method's option."""
    plain = (int, float, bool, str, type(None))
    return isinstance(value, plain) or (isinstance(value, list) and all(isinstance(one, int) for one in value))


def text_hash(text: str) -> str:
    """CRC-32 of the text's UTF-8, as 8 hex digits: enough to tell that a machine wrote another text."""
    return f"{zlib.crc32(text.encode()):08x}"
