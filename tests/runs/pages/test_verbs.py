"""What a person can do with a run: the page's buttons are those of the one table."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse

from campaigns.runs.run import Run
from campaigns.verbs import VERBS
from notifications.people.device import Device
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from notifications.staff.team import Role
from tests.admin.desk import Desk, messages_of, text_of
from tests.given.builders import make_run
from tests.given.runs import (
    NOON,
    cancelled,
    doubtful,
    paused,
    retiring,
    scheduled,
    sending,
    unreported,
)
from tests.roles.people import logged_in

pytestmark = pytest.mark.django_db


def preparing(project: Project) -> Run:
    return make_run(project, advanced=False)


def buttons(client: Client, run: Run) -> list[str]:
    page = client.get(reverse("admin:campaigns_run_change", args=[run.pk])).content.decode()
    return re.findall(r'id="verb-(\w+)"', page)


def offered(run: Run, verbs: list[str]) -> list[str]:
    """With what makes something new; of a run with an end, to send to the rest comes first, if
    anybody of it has a device left."""
    if run.finished_at and run.planned:
        left = Device.objects.filter(retired_at=None).exists()
        right = ["correct"] if run.accepted + run.unknown else []
        return [*(["rest"] if left else []), *verbs, *right, "make_list", "duplicate"]
    return [*verbs, "duplicate"]


STATES = [
    (scheduled, ["pause", "change_rate", "change_text", "move", "cancel"]),
    (preparing, ["pause", "change_rate", "change_text", "cancel"]),
    (sending, ["pause", "change_rate", "change_text", "cancel"]),
    (unreported, ["pause", "change_rate", "ignore_load", "change_text", "cancel"]),
    (paused, ["resume", "change_rate", "change_text", "cancel"]),
    (doubtful, ["send_again", "keep_unknown"]),
    (retiring, ["restore_devices"]),
    (cancelled, []),
]


@pytest.mark.parametrize(("given", "verbs"), STATES)
def test_the_page_has_a_button_for_what_can_be_done_now(
    desk: Desk, project: Project, given: Callable[[Project], Run], verbs: list[str]
) -> None:
    run = given(project)
    assert buttons(desk.client, run) == offered(run, verbs)
    assert buttons(logged_in(Role.SENDER), run) == offered(run, verbs)


@pytest.mark.parametrize(("given", "verbs"), STATES)
def test_each_button_asks_before_it_does_anything(
    desk: Desk, project: Project, given: Callable[[Project], Run], verbs: list[str]
) -> None:
    run = given(project)
    before = Run.objects.values().get()
    for verb in (each for each in VERBS if each.name in verbs):
        reply = desk.client.get(reverse(f"admin:{verb.page}", args=[run.pk]))
        assert str(verb.button) in text_of(reply) and b'type="submit"' in reply.content
        looks_final = b"c-button-danger" in reply.content
        assert looks_final == verb.danger, verb.name
    assert Run.objects.values().get() == before


@pytest.mark.parametrize(("given", "_verbs"), STATES)
def test_a_role_that_launches_nothing_steers_nothing(
    project: Project, given: Callable[[Project], Run], _verbs: list[str]
) -> None:
    run = given(project)
    assert buttons(logged_in(Role.VIEWER), run) == []
    editor = logged_in(Role.EDITOR)
    assert buttons(editor, run) == offered(run, [])
    before = Run.objects.values().get()
    for verb in VERBS:
        url = reverse(f"admin:{verb.page}", args=[run.pk])
        assert editor.post(url, {"_form_submitted": "on"}).status_code == 403
    assert Run.objects.values().get() == before


def test_a_dialog_from_before_the_cancel_decides_about_nobody(desk: Desk, project: Project) -> None:
    run = doubtful(project)
    Run.objects.filter(pk=run.pk).update(state="cancelled")
    reply = desk.confirm("campaigns_run_keep_unknown", run.pk)
    assert "This run was cancelled: its unknown outcomes stay unknown." in text_of(reply)
    assert run.chunks.get().reasons == {"unanswered": 1}
    assert not AuditEntry.objects.filter(action="kept the unknown outcomes of").exists()


@pytest.mark.parametrize("verb", ["restore_devices", "send_again"])
def test_the_second_of_two_clicks_is_told_that_nobody_is_left(
    desk: Desk, project: Project, verb: str
) -> None:
    run = retiring(project) if verb == "restore_devices" else doubtful(project)
    assert "HX-Redirect" in desk.confirm(f"campaigns_run_{verb}", run.pk).headers
    entries = AuditEntry.objects.count()
    reply = desk.confirm(f"campaigns_run_{verb}", run.pk)
    assert "HX-Redirect" not in reply.headers and "has changed in the meantime" in text_of(reply)
    assert AuditEntry.objects.count() == entries


def test_a_run_that_is_moved_from_its_own_page_is_shown_there_again(
    desk: Desk, project: Project
) -> None:
    run = scheduled(project)
    place, later = reverse("admin:campaigns_run_change", args=[run.pk]), NOON + timedelta(hours=1)
    reply = desk.client.post(
        reverse("admin:campaigns_run_move", args=[run.pk]),
        {
            "_form_submitted": "on",
            "at": f"{later:%Y-%m-%dT%H:%M}",
            "zone": "UTC",
            "was": NOON.isoformat(),
            "looked_at": f"{later:%Y-%m-%dT%H:%M:%S}",
        },
        headers={"HX-Request": "true", "HX-Current-URL": f"http://testserver{place}"},
    )
    assert reply["HX-Redirect"] == place
    assert "moved to" in messages_of(reply)[0]  # type: ignore[arg-type]
    run.refresh_from_db()
    assert run.scheduled_at == later
