"""Which network a visitor comes from, as far as that can be trusted: what a stranger cannot choose freely.

A whole school may stand behind one address, so what is counted by it is shared by many and must leave room for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Protocol

FORWARDED = "x-forwarded-for"
IPV6_PREFIX = 64
"""bits that a provider gives to one customer, who may choose the others at will"""


class Asked(Protocol):
    """What is looked at of a request."""

    @property
    def client(self) -> object: ...

    @property
    def headers(self) -> Mapping[str, str]: ...


def network_of(request: Asked, behind_proxy: bool) -> str:
    """The visitor's IPv4 address, or the network of their IPv6 address; "" where nothing can be told.

    `behind_proxy`: the server is reached through a proxy alone, as a Space is. Each proxy on the way appends whom it
    heard, after whatever the visitor wrote there themselves: so the last public address counts, and those behind it are
    the host's own machines. Without a proxy the header is the visitor's invention, and only the connection counts.
    """
    named = request.headers.get(FORWARDED, "").split(",") if behind_proxy else []
    connected = str(getattr(request.client, "host", "") or "")
    for one in (*reversed(named), connected):
        address = _address(one)
        if address is not None and (address.is_global or one is connected):
            return _network(address)
    return ""


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text.strip())
    except ValueError:
        return None


def _network(address: IPv4Address | IPv6Address) -> str:
    if isinstance(address, IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ip_network((address, IPV6_PREFIX), strict=False))
