"""The schema is the same for everybody: made once, and sent again only to who has an older one."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.test import Client
from drf_spectacular.generators import SchemaGenerator

from notifications.api import reference

PATH = "/api/schema/"


@pytest.fixture(autouse=True)
def a_new_process() -> Iterator[None]:
    reference.forget()
    yield
    reference.forget()


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the generator made, as often as it was asked."""
    made: list[Any] = []
    whole: Any = SchemaGenerator.get_schema

    def noted(self: SchemaGenerator, *asked: Any, **named: Any) -> Any:
        made.append(whole(self, *asked, **named))
        return made[-1]

    monkeypatch.setattr(SchemaGenerator, "get_schema", noted)
    return made


@pytest.mark.parametrize(
    "queries",
    [
        [{}, {}],
        [{"format": "json"}, {"format": "json"}, {}],
        [{"lang": "ko"}, {"lang": "en"}, {"version": "9"}, {"version": "10"}],
    ],
)
def test_it_is_made_once_whatever_a_stranger_asks(
    client: Client, made: list[Any], queries: list[dict[str, str]]
) -> None:
    assert {client.get(PATH, query).status_code for query in queries} == {200}
    assert len(made) == 1


def test_it_is_made_once_when_the_first_come_together(made: list[Any]) -> None:
    together = Barrier(4)

    def ask(number: int) -> tuple[int, bytes]:
        together.wait()
        reply = Client(raise_request_exception=False).get(PATH)
        return reply.status_code, reply.content

    with ThreadPoolExecutor(4) as threads:
        answers = set(threads.map(ask, range(4)))
    assert [status for status, _ in answers] == [200]
    assert len(made) == 1


def test_who_comes_first_does_not_choose_the_language(client: Client) -> None:
    korean = client.get(PATH, {"lang": "ko"}, headers={"accept-language": "ko"}).content
    reference.forget()
    assert client.get(PATH).content == korean


@pytest.mark.parametrize(
    ("asked", "kind", "start"),
    [
        ("*/*", "application/vnd.oai.openapi", b"openapi: "),
        ("application/yaml", "application/yaml", b"openapi: "),
        ("application/vnd.oai.openapi+json", "application/vnd.oai.openapi+json", b"{"),
        ("application/json; indent=9", "application/json", b"{"),
    ],
)
def test_each_form_has_its_own_type_and_text(
    client: Client, asked: str, kind: str, start: bytes
) -> None:
    for _ in range(2):
        reply = client.get(PATH, headers={"accept": asked})
        assert reply["Content-Type"].partition(";")[0] == kind
        assert reply.content.startswith(start)
        assert "Accept" in reply["Vary"]
        assert reply["Content-Disposition"].startswith('inline; filename="Carillon.')


def test_who_has_it_is_not_sent_it_again(client: Client) -> None:
    tag = client.get(PATH)["ETag"]
    again = client.get(PATH, headers={"if-none-match": tag})
    assert (again.status_code, again.content, again["ETag"]) == (304, b"", tag)
    assert client.get(PATH, headers={"if-none-match": '"older"'}).status_code == 200
    other = client.get(PATH, {"format": "json"}, headers={"if-none-match": tag})
    assert other.status_code == 200, "another form has another tag"
