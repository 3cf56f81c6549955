"""A project's key in the admin: given, checked, exchanged for the machine's; and never shown."""

from __future__ import annotations

import json
import re
from datetime import time
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.urls import reverse

from notifications.keys.credentials import ServiceAccount
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from tests.admin.desk import Desk, messages_of, text_of
from tests.given.builders import make_campaign, make_people
from tests.servers.fcm import Fcm

pytestmark = pytest.mark.django_db
WORKS = "The key works: FCM read a test message. Nothing was sent."


@pytest.fixture
def project(project: Project) -> Project:
    Project.objects.update(firebase_project_id="carillon-demo")
    project.refresh_from_db()
    return project


def give(desk: Desk, project: Project, **values: Any) -> HttpResponse:
    return desk.confirm("notifications_project_set_credentials", project.pk, **values)


def file(content: str) -> SimpleUploadedFile:
    return SimpleUploadedFile("key.json", content.encode(), "application/json")


@pytest.mark.parametrize("way", ["file", "key"])
def test_a_key_is_checked_stored_and_tried_at_once(
    desk: Desk, project: Project, fcm: Fcm, way: str
) -> None:
    Project.objects.update(uses_emulator=False)
    text = json.dumps(fcm.service_account)

    reply = give(desk, project, **{way: file(text) if way == "file" else text})

    [said] = messages_of(reply)
    assert said == f"The key is stored. {WORKS} Shop sends to the emulator."
    project.refresh_from_db()
    assert (project.uses_emulator, project.service_account.open()) == (True, fcm.service_account)
    page = desk.open("notifications_project_change", project.pk)
    assert fcm.service_account["client_email"] in page
    assert fcm.counts()["accepted"] == 0


@pytest.mark.parametrize("way", ["file", "key"])
@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda text: text[: len(text) // 2], "only a part of it"),
        (lambda text: text.replace('"project_id": "carillon-demo"', '"project_id": "x"'),
         "this key belongs to “x”"),
        (lambda text: text.replace("/token", "/elsewhere"), "token_uri: must be"),
        (lambda text: text.replace("BEGIN PRIVATE", "BEGIN"), "private_key: is not a key"),
        (lambda text: text + "x" * 70_000, "Far too large"),
    ],
)  # fmt: skip
def test_a_key_that_cannot_work_is_refused_beside_its_field_and_not_shown_again(
    desk: Desk, project: Project, fcm: Fcm, way: str, spoil: Any, words: str
) -> None:
    text = spoil(json.dumps(fcm.service_account))

    reply = give(desk, project, **{way: file(text) if way == "file" else text})

    assert words in text_of(reply)
    assert fcm.service_account["private_key"][40:80] not in reply.content.decode()
    assert not ServiceAccount.objects.exists()
    assert not AuditEntry.objects.exists()


def test_a_key_of_googles_does_not_turn_to_real_phones_unasked(
    desk: Desk, project: Project, fcm: Fcm, settings: LazySettings
) -> None:
    Project.objects.update(uses_emulator=True)
    text = json.dumps({**fcm.service_account, "token_uri": settings.GOOGLE_TOKEN_URI})
    asked = desk.client.get(
        reverse("admin:notifications_project_set_credentials", args=[project.pk])
    ).content.decode()
    assert re.search(r'<input[^>]*name="emulator"[^>]*checked', asked)

    said = text_of(give(desk, project, key=text, emulator="on"))
    assert "This is a key of Google's, which the emulator does not take" in said
    assert not ServiceAccount.objects.exists()

    give(desk, project, key=json.dumps(fcm.service_account), emulator="on")
    project.refresh_from_db()
    assert project.uses_emulator and ServiceAccount.objects.exists()

    give(desk, project, key=text)
    project.refresh_from_db()
    assert not project.uses_emulator
    asked = desk.open("notifications_project_set_credentials", project.pk)
    assert "Keep sending" not in asked, "it does not any more"


def test_the_review_says_where_it_goes_where_there_is_an_emulator(
    desk: Desk, project: Project, fcm: Fcm, settings: LazySettings
) -> None:
    make_people(project, 3)
    campaign = make_campaign(project)
    for emulated, words in ((True, "the emulator, not to real"), (False, "FCM, to real phones")):
        Project.objects.update(uses_emulator=emulated)
        for page in ("campaign_review", "campaigns_campaign_launch"):
            assert f"Goes to {words}" in desk.open(page, campaign.pk)
    settings.FCM_ENDPOINT = settings.GOOGLE_FCM_ENDPOINT
    assert "Goes to" not in desk.open("campaign_review", campaign.pk)


def test_a_form_without_a_key_file_says_so(desk: Desk, project: Project, fcm: Fcm) -> None:
    assert "Choose the file, or paste its text" in text_of(give(desk, project))
    assert "empty" in text_of(give(desk, project, file=file("")))


def test_a_check_tells_what_fcm_says(desk: Desk, project: Project, fcm: Fcm) -> None:
    [said] = messages_of(desk.confirm("notifications_project_check_key", project.pk))
    assert "has no service account" in said
    ServiceAccount.store(project, fcm.service_account)

    [*_, said] = messages_of(desk.confirm("notifications_project_check_key", project.pk))

    assert said == f"{WORKS} Shop sends to the emulator."


def test_opening_the_dialogs_asks_nobody_and_changes_nothing(
    desk: Desk, project: Project, fcm: Fcm
) -> None:
    for name in ("set_credentials", "check_key", "use_machine"):
        desk.open(f"notifications_project_{name}", project.pk)
    assert fcm.counts()["token_requests"] == 0
    assert not Project.objects.get().uses_default_credentials


def test_the_machines_credentials_are_tried_before_they_are_used(
    desk: Desk, project: Project, fcm: Fcm, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    adc = tmp_path / "adc.json"
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(adc))
    change = {"emulator": "on"}

    reply = desk.confirm("notifications_project_use_machine", project.pk, **change)
    assert "no application default credentials that work" in text_of(reply)
    assert not Project.objects.get().uses_default_credentials

    adc.write_text(json.dumps(fcm.service_account))
    reply = desk.confirm("notifications_project_use_machine", project.pk, **change)
    assert messages_of(reply) == [f"{WORKS} Shop sends to the emulator."]
    assert Project.objects.get().uses_default_credentials
    page = desk.open("notifications_project_change", project.pk)
    assert "This machine's own application default credentials" in page

    # No key was ever uploaded: there is nothing to go back to.
    reply = desk.confirm("notifications_project_use_machine", project.pk)
    assert "There is no uploaded key" in text_of(reply)
    assert Project.objects.get().uses_default_credentials

    give(desk, project, key=json.dumps(fcm.service_account))
    assert not Project.objects.get().uses_default_credentials


def test_a_project_may_go_back_to_its_uploaded_key(desk: Desk, project: Project, fcm: Fcm) -> None:
    ServiceAccount.store(project, fcm.service_account)
    Project.objects.update(uses_default_credentials=True)

    desk.confirm("notifications_project_use_machine", project.pk)

    assert not Project.objects.get().uses_default_credentials
    assert AuditEntry.objects.get().detail == {"credentials": "uploaded"}


def test_a_changed_firebase_project_warns_of_the_key(desk: Desk, project: Project) -> None:
    form = {"name": "Shop", "slug": project.slug, "timezone": "UTC", "ramp_seconds": "60",
            "firebase_project_id": "museum-1", "quota_per_minute": "600000"}  # fmt: skip
    said = desk.save("notifications_project_change", project.pk, **form)
    assert "set that project's key" in said


def test_an_id_that_cannot_be_one_is_refused_and_a_stored_one_may_stay(
    desk: Desk, project: Project
) -> None:
    form = {"name": "Shop", "slug": project.slug, "timezone": "UTC", "ramp_seconds": "60",
            "quota_per_minute": "600000"}  # fmt: skip
    Project.objects.update(firebase_project_id="Old ID")

    refusal = desk.save(
        "notifications_project_change", project.pk, **form, firebase_project_id="My Shop"
    )
    assert "A project ID has 6 to 30 of a–z, 0–9 and -." in refusal
    assert Project.objects.get().firebase_project_id == "Old ID"

    renamed = form | {"name": "Books"}
    desk.save("notifications_project_change", project.pk, **renamed, firebase_project_id="Old ID")
    assert Project.objects.get().name == "Books"


def test_a_new_project_leads_to_where_its_key_is_set(desk: Desk) -> None:
    pace = {"quota_per_minute": 600_000, "ramp_seconds": 60}
    form = {"name": "Books", "slug": "books", "timezone": "UTC", "firebase_project_id": "books-1"}
    assert "None yet." not in desk.open("notifications_project_add")
    said = desk.save("notifications_project_add", **form, **pace)
    assert "Nothing can be sent: set one above." in said


def test_the_review_says_when_there_is_no_key_to_send_with(desk: Desk, project: Project) -> None:
    make_people(project, 1)
    campaign = make_campaign(project)
    todo = "has no key, and its runs pause at once. Set one first: Projects → Shop"
    assert todo in desk.open("campaign_review", campaign.pk)
    Project.objects.update(uses_default_credentials=True)
    assert "has no key" not in desk.open("campaign_review", campaign.pk)


@pytest.mark.parametrize(
    ("begin", "end", "refusal"),
    [
        ("21:00", "", "Say when they end, too, or leave both empty."),
        ("", "08:00", "Say when they begin, too, or leave both empty."),
        ("08:00", "08:00", "They would never end. Choose another time."),
        ("25:00", "08:00", "Enter a valid time."),
    ],
)
def test_quiet_hours_that_do_not_begin_and_end_are_refused(
    desk: Desk, project: Project, begin: str, end: str, refusal: str
) -> None:
    form = {"name": "Shop", "slug": project.slug, "timezone": "UTC", "ramp_seconds": "60",
            "firebase_project_id": "museum-1", "quota_per_minute": "600000"}  # fmt: skip
    said = desk.save(
        "notifications_project_change", project.pk, **form, quiet_from=begin, quiet_until=end
    )
    assert refusal in said
    assert Project.objects.get().quiet_from is None


def test_quiet_hours_are_set_and_the_audit_trail_says_by_whom(desk: Desk, project: Project) -> None:
    form = {"name": "Shop", "slug": project.slug, "timezone": "UTC", "ramp_seconds": "60",
            "firebase_project_id": "museum-1", "quota_per_minute": "600000"}  # fmt: skip
    form |= {"quiet_from": "21:00", "quiet_until": "08:00"}
    desk.save("notifications_project_change", project.pk, **form)
    address = reverse("admin:notifications_project_change", args=[project.pk])
    page = desk.client.get(address).content.decode()
    assert 'value="21:00"' in page and 'value="08:00"' in page
    saved = Project.objects.get()
    assert (saved.quiet_from, saved.quiet_until) == (time(21), time(8))
    assert "quiet_from" in str(AuditEntry.objects.latest("pk").detail)


@pytest.mark.parametrize(("typed", "kept"), [("25", 25), (None, 40), ("", 10)])
def test_the_floor_under_load_is_kept_where_an_older_page_does_not_ask_for_it(
    desk: Desk, project: Project, typed: str | None, kept: int
) -> None:
    Project.objects.update(floor_per_second=40)
    form = {"name": "Shop", "slug": project.slug, "timezone": "UTC", "ramp_seconds": "60",
            "firebase_project_id": "museum-1", "quota_per_minute": "600000"}  # fmt: skip
    form |= {} if typed is None else {"floor_per_second": typed}
    desk.save("notifications_project_change", project.pk, **form)
    assert Project.objects.get().floor_per_second == kept
