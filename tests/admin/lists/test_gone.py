"""A row a colleague deleted, an address that names none: every door says so and none breaks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.urls import reverse

from campaigns.planning.campaign import Campaign
from campaigns.runs.run import Run
from notifications.people.project import Project
from tests.admin.desk import Desk, registered, text_of
from tests.given.builders import make_campaign, make_contact, make_device

pytestmark = pytest.mark.django_db
NOBODY = ["987654", "abc", "9" * 30, "9" * 5_000, "1 OR 1=1"]
IN_A_PAGE = {"HX-Request": "true"}  # so that a reply is put into the page one looks at


def verbs() -> Iterator[str]:
    for model, page in registered().items():
        name = f"{model._meta.app_label}_{model._meta.model_name}"
        names_in: Any = page._extract_action_names
        for verb in names_in(page.actions_detail):
            yield f"{name}_{verb}"


def pages() -> Iterator[str]:
    for model in registered():
        for page in ("change", "delete", "history"):
            yield f"{model._meta.app_label}_{model._meta.model_name}_{page}"


def asked(desk: Desk, page: str, row: Any, **headers: str) -> Iterator[Any]:
    """By who opens it, and by who answers it."""
    url = reverse(f"admin:{page}", args=[row])
    yield desk.client.get(url, headers=headers)
    yield desk.client.post(url, {"_form_submitted": "on", "post": "yes"}, headers=headers)


def test_there_are_verbs_to_try() -> None:
    tried = set(verbs())
    assert {
        "campaigns_run_change_rate",
        "campaigns_campaign_launch",
        "auth_user_forget_factor",
    } <= tried


@pytest.mark.parametrize("verb", list(verbs()))
def test_a_verb_of_no_row_says_so_in_its_dialog(desk: Desk, project: Project, verb: str) -> None:
    for row in NOBODY:
        for reply in asked(desk, verb, row, **IN_A_PAGE):
            assert (reply.status_code, reply.headers.get("HX-Redirect")) == (200, None), row
            assert "It has been deleted in the meantime." in text_of(reply)
            assert 'type="submit"' not in reply.content.decode(), "nothing to say yes to"
        for reply in asked(desk, verb, row):
            assert reply.status_code == 404, "typed into the address bar"


@pytest.mark.parametrize("page", list(pages()))
def test_a_page_of_no_row_leads_back(desk: Desk, project: Project, page: str) -> None:
    for row in NOBODY:
        for reply in asked(desk, page, row):
            assert reply.status_code in (302, 403, 404), row


@pytest.mark.parametrize("verb", ["launch", "duplicate", "tag", "archive", "bring_back", "stop"])
def test_a_draft_deleted_while_its_dialog_is_open(desk: Desk, project: Project, verb: str) -> None:
    campaign = make_campaign(project)
    page = asked(desk, f"campaigns_campaign_{verb}", campaign.pk, **IN_A_PAGE)
    assert "deleted" not in text_of(next(page))
    Campaign.objects.all().delete()
    assert "It has been deleted in the meantime." in text_of(next(page))
    assert not Campaign.objects.exists()


@pytest.mark.parametrize("verb", ["launch", "stop"])
def test_a_campaign_deleted_between_the_click_and_the_deed(
    desk: Desk, project: Project, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    make_device(make_contact(project))
    campaign, locked = make_campaign(project), Campaign.locked

    def too_late(pk: int) -> Campaign:
        Campaign.objects.all().delete()
        return locked(pk)

    monkeypatch.setattr(Campaign, "locked", too_late)
    url = reverse(f"admin:campaigns_campaign_{verb}", args=[campaign.pk])
    page = desk.client.get(url, headers=IN_A_PAGE).content.decode()
    looked_at = re.search(r'name="looked_at" value="([^"]*)"', page)
    posted = {"_form_submitted": "on", "looked_at": looked_at[1] if looked_at else ""}
    reply = desk.client.post(url, posted, headers=IN_A_PAGE)
    assert reply.status_code == 200
    assert "It has been deleted in the meantime." in text_of(reply)
    assert not Run.objects.exists()
