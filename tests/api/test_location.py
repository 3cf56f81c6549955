"""Whoever makes something is told where it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

import pytest

from notifications.people.project import Project
from tests.api.caller import Caller
from tests.given.builders import make_audience, make_campaign, make_template

if TYPE_CHECKING:
    from django.test.client import _MonkeyPatchedWSGIResponse as Response


def shown_at(alice: Caller, made: Response) -> Any:
    """What stands at the address it names."""
    assert made["Location"].startswith("http://testserver/api/v1/")
    return alice.get(urlsplit(made["Location"]).path.removeprefix("/api/v1/")).json()


@pytest.mark.parametrize("key", [None, "k1"])
def test_what_was_made_stands_at_the_location(
    alice: Caller, ours: Project, key: str | None
) -> None:
    audience, template = make_audience(ours), make_template(ours)
    bodies: dict[str, Any] = {
        "audiences": {"name": "A", "rules": {"all": []}},
        "templates": {"name": "T", "title": "T", "body": "B"},
        "campaigns": {"name": "C", "audience": audience.pk, "template": template.pk},
    }
    for path, body in bodies.items():
        headers = {"Idempotency_Key": f"{key} {path}"} if key else {}
        made = alice.post(path, body, **headers)
        assert made.status_code == 201
        assert shown_at(alice, made) == made.json()


@pytest.mark.parametrize("external_id", ["u1", "u/1 é?#%", "a+b&c"])
def test_a_person_written_for_the_first_time_has_a_location(
    alice: Caller, external_id: str
) -> None:
    path = f"contacts/{quote(external_id)}"
    made = alice.put(path, {})
    assert made.status_code == 201
    assert shown_at(alice, made)["external_id"] == external_id
    assert "Location" not in alice.put(path, {})


def test_a_launch_names_the_run_and_names_it_again_when_repeated(
    alice: Caller, ours: Project
) -> None:
    path = f"campaigns/{make_campaign(ours).pk}/launch"
    launched = alice.post(path, Idempotency_Key="k1")
    again = alice.post(path, Idempotency_Key="k1")
    assert (launched.status_code, again.status_code) == (202, 202)
    assert shown_at(alice, launched)["id"] == launched.json()["id"]
    assert again["Location"] == launched["Location"]
