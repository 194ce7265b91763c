"""Where a visitor comes from: the connection, or behind a proxy the last public address that the header names."""

from types import SimpleNamespace

import pytest

from specviz.app.page.queue import network_of


def asked(connected: str | None, forwarded: str | None = None) -> SimpleNamespace:
    client = None if connected is None else SimpleNamespace(host=connected)
    return SimpleNamespace(client=client, headers={} if forwarded is None else {"x-forwarded-for": forwarded})


def test_without_a_proxy_the_header_is_the_visitors_invention() -> None:
    assert network_of(asked("192.168.1.7", "8.8.8.8"), behind_proxy=False) == "192.168.1.7"


@pytest.mark.parametrize(
    ("forwarded", "network"),
    [
        ("8.8.4.4", "8.8.4.4"),
        ("1.1.1.1, 8.8.4.4", "8.8.4.4"),  # the first was there before the proxy wrote: the visitor's own words
        ("1.1.1.1, 8.8.4.4, 10.16.3.2", "8.8.4.4"),  # the host's own machines stand behind the outermost proxy
        ("nonsense, 8.8.4.4", "8.8.4.4"),
        ("nonsense", "10.0.0.1"),
        ("10.9.9.9", "10.0.0.1"),
        ("", "10.0.0.1"),
    ],
)
def test_behind_a_proxy_the_last_public_address_counts(forwarded: str, network: str) -> None:
    assert network_of(asked("10.0.0.1", forwarded), behind_proxy=True) == network


def test_of_an_ipv6_address_only_what_a_provider_gives_out_counts() -> None:
    assert network_of(asked("2a00:1450:4001:81b::200e"), behind_proxy=False) == "2a00:1450:4001:81b::/64"
    assert network_of(asked("::ffff:8.8.4.4"), behind_proxy=False) == "8.8.4.4"


def test_where_nothing_can_be_told_all_are_one_network() -> None:
    assert network_of(asked(None), behind_proxy=True) == ""
    assert network_of(asked("testclient"), behind_proxy=False) == ""
