"""What a refusal says: our own words, with the field and what to give; no library's."""

from __future__ import annotations

import re
from typing import Any

import pytest

from notifications.people.consent.category import Category
from notifications.people.project import Project
from tests.api import promised
from tests.api.caller import Caller
from tests.given.builders import make_campaign, make_contact, make_device, make_run
from tests.given.endpoints import make_endpoint

THEIRS = re.compile(
    r"This field|Ensure |Not a valid|A valid |not a valid|Expected a|Enter a valid|Invalid |"
    r"No data provided|"
    r"wrong format|This list|Null characters|cannot be (blank|null)|credentials were|"
    r"do not have permission|\" not allowed|Not found\.|must be a valid|Must be a valid|"
    r"Incorrect type|primary key|Value .* is not|dictionary|valid string|JSON parse"
)
WRONG: list[Any] = [None, "", 7, True, [], {}, "x" * 300, "a\x00b", [7]]
QUERIES = ["", "x", "-1", "%00", "x" * 300]


@pytest.fixture
def addresses(ours: Project) -> dict[str, str]:
    """Of each room of the API, one row."""
    make_device(make_contact(ours, external_id="ada"), "phone")
    campaign = make_campaign(ours)
    return {
        "contacts": "ada",
        "devices": "phone",
        "suppressions": "ada",
        "audiences": str(campaign.audience_id),
        "lists": str(campaign.audience_id),
        "templates": str(campaign.template_id),
        "campaigns": str(campaign.pk),
        "runs": str(make_run(ours).pk),
        "endpoints": str(make_endpoint(ours, "https://93.184.216.34/hooks").pk),
        "categories": str(Category.objects.create(project=ours, name="A", slug="a").pk),
    }


def written(addresses: dict[str, str]) -> list[tuple[str, str, dict[str, Any]]]:
    """Each operation that has a body, with the fields of it."""
    shapes = promised.schema()["components"]["schemas"]
    found = []
    for path, methods in promised.schema()["paths"].items():
        for method, operation in methods.items():
            body = operation.get("requestBody", {}).get("content", {}).get("application/json")
            if body:
                address = path.removeprefix("/api/v1/")
                address = re.sub(r"\{\w+\}", addresses.get(address.partition("/")[0], ""), address)
                name = body["schema"]["$ref"].rpartition("/")[2]
                found.append((method.upper(), address, shapes[name]["properties"]))
    return found


def asked(addresses: dict[str, str]) -> list[tuple[str, list[str]]]:
    """Each address that is read, with what it takes behind the question mark."""
    found = []
    for path, methods in promised.schema()["paths"].items():
        if "get" in methods:
            address = path.removeprefix("/api/v1/")
            address = re.sub(r"\{\w+\}", addresses.get(address.partition("/")[0], ""), address)
            taken = [one for one in methods["get"].get("parameters", []) if one["in"] == "query"]
            found.append((address, [one["name"] for one in taken]))
    return found


class Said(dict[str, str]):
    """Every message there was, with one call that got it."""

    def hear(self, method: str, path: str, body: Any, answer: Any) -> None:
        assert answer.status_code < 500, (method, path, body)
        if answer.status_code >= 400:
            told = answer.json()
            for message in [told["detail"], *(one["message"] for one in told["errors"])]:
                self.setdefault(message, f"{method} {path} {str(body)[:60]}")

    @property
    def of_a_library(self) -> dict[str, str]:
        return {message: where for message, where in self.items() if THEIRS.search(message)}


def test_no_refusal_of_a_body_speaks_the_words_of_a_library(
    alice: Caller, addresses: dict[str, str]
) -> None:
    said = Said()
    for method, path, fields in written(addresses):
        bodies: list[Any] = [
            {},
            [],
            7,
            None,
            b"null",
            *(dict.fromkeys(fields, value) for value in WRONG),
        ]
        for body in bodies:
            said.hear(method, path, body, alice(method, path, body))
    assert len(said) > 30 and said.of_a_library == {}


def test_no_refusal_of_a_query_speaks_the_words_of_a_library(
    alice: Caller, addresses: dict[str, str]
) -> None:
    said = Said()
    for path, names in asked(addresses):
        for query in ["&".join(f"{name}={value}" for name in names) for value in QUERIES]:
            said.hear("GET", path, query, alice.get(f"{path}?{query}"))
    assert len(said) > 10 and said.of_a_library == {}


def test_no_refusal_at_the_door_speaks_the_words_of_a_library(
    alice: Caller, ours: Project, addresses: dict[str, str]
) -> None:
    said = Said()
    nobody = Caller(ours, [])
    for path, _ in asked(addresses):
        said.hear("GET", path, "no scope", nobody.get(path))
        said.hear("GET", path, "no key", alice.get(path, Authorization="-"))
        for method in ("PUT", "POST", "PATCH", "DELETE"):
            said.hear(
                method, f"{path}0", "an address or a method that is none", alice(method, f"{path}0")
            )
    assert said.of_a_library == {}
