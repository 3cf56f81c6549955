"""Python keeps each name of an encoding that it is asked for: strangers must not make it ask."""

from __future__ import annotations

import codecs
import encodings
from collections.abc import Callable
from uuid import uuid4

import pytest
from django.test import Client

PART = "--x\r\nContent-Disposition: form-data; name=\"a\"; filename*={}''b\r\n\r\nc\r\n--x--\r\n"
KIND = "multipart/form-data; boundary=x"


def of_a_charset(name: str) -> int:
    kind = f"application/json; charset={name}"
    return stranger().generic("POST", "/api/v1/messages", b"{}", content_type=kind).status_code


def of_an_accepted_type(name: str) -> int:
    headers = {"Accept": f"text/html; a*={name}''b"}
    return stranger().get("/api/schema/", headers=headers).status_code


def of_a_part(name: str) -> int:
    body = PART.format(name).encode()
    return stranger().generic("POST", "/admin/login/", body, content_type=KIND).status_code


def stranger() -> Client:
    return Client(raise_request_exception=False)


@pytest.mark.parametrize("ask", [of_a_charset, of_an_accepted_type, of_a_part])
def test_a_made_up_encoding_is_not_kept(db: None, ask: Callable[[str], int]) -> None:
    names = {uuid4().hex for _ in range(20)}
    for name in names:
        ask(name)
    assert names.isdisjoint(encodings._cache)


def test_the_encodings_that_python_has_are_still_found() -> None:
    for name in ("UTF-8", "latin 1", "euc-kr", "CP949", "utf-16-le", "unicode-escape", "idna"):
        assert codecs.lookup(name)
    with pytest.raises(LookupError):
        codecs.lookup("nobodys")


@pytest.mark.parametrize("name", ["hex", "undefined", "idna", "unicode_escape", "punycode"])
def test_an_encoding_of_no_text_fails_nobody(db: None, name: str) -> None:
    for ask in (of_an_accepted_type, of_a_part):
        assert ask(name) != 500
