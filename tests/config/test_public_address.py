"""PUBLIC_URL is a host and perhaps a port, and nothing that would lead elsewhere."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.boot.public_address import public_address


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("", ""),
        ("https://push.example.com", "https://push.example.com"),
        ("https://push.example.com/", "https://push.example.com"),
        ("https://xn--h1ahn.example:8443", "https://xn--h1ahn.example:8443"),
        ("https://[2001:db8::1]:8443", "https://[2001:db8::1]:8443"),
    ],
)  # fmt: skip
def test_a_host_and_a_port_are_kept(given: str, kept: str) -> None:
    assert public_address(given, plain=False) == kept


@pytest.mark.parametrize(
    "wrong",
    [
        "push.example.com", "//push.example.com", "https://", "https:///o", "ftp://push.example.com",
        "https://push.example.com/carillon", "https://push.example.com//evil.example",
        "https://push.example.com/../o", "https://push.example.com?to=", "https://push.example.com#",
        "https://push.example.com@evil.example", "https://a:b@push.example.com",
        "https://push.example.com\\@evil.example", "https://push.example.com:0",
        "https://push.example.com:99999", "https://push.example.com\r\nSet-Cookie: a=b",
        "https://push.example.com\n", " https://push.example.com", "https://push .example.com",
        "https://пуш.example", "https://-push.example.com", "javascript:alert(1)//",
    ],
)  # fmt: skip
def test_what_could_lead_elsewhere_is_refused(wrong: str) -> None:
    with pytest.raises(ValueError, match=r"e\.g\. https://push\.example\.com"):
        public_address(wrong, plain=True)


def test_only_a_machine_of_ones_own_may_be_reached_without_tls() -> None:
    assert public_address("http://127.0.0.1:8000", plain=True) == "http://127.0.0.1:8000"
    with pytest.raises(ValueError, match="must begin with https://"):
        public_address("http://127.0.0.1:8000", plain=False)


@given(st.text(min_size=1))
def test_no_text_behind_the_host_is_kept(more: str) -> None:
    try:
        kept = public_address(f"https://push.example.com{more}", plain=True)
    except ValueError:
        return
    assert kept.isascii() and kept.count("/") == 2 and "@" not in kept
