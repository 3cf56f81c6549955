"""Every page in Korean: nothing on it is left in English, in what is read and what is heard."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone, translation

from campaigns.runs.reasons import Cause
from campaigns.runs.run import Run
from campaigns.triggers.automation import Automation
from campaigns.triggers.trigger import NotSent, Trigger
from notifications.people.importing.model import Import
from notifications.people.project import Project
from notifications.staff import audit
from notifications.staff.api_key import ApiKey
from tests.admin.desk import Desk
from tests.admin.lists.english import english_on
from tests.given.builders import (
    make_audience,
    make_automation,
    make_campaign,
    make_contact,
    make_device,
    make_project,
    make_run,
    make_template,
)
from tests.given.importing import bring_in, check, mapped, upload
from tests.roles.every_page import GOES_OUT, address, pages

pytestmark = pytest.mark.django_db


def test_the_reader_finds_english_where_it_is_read_or_heard() -> None:
    html = '<p>Nothing yet.</p><b aria-label="Close it">닫기</b><code>not this</code><i>이름</i>'
    assert english_on(html) == ["Nothing yet", "Close it"]


@pytest.fixture
def korean(desk: Desk) -> Iterator[Client]:
    User.objects.update(first_name="", username="ada")
    desk.client.cookies["django_language"] = "ko"
    desk.client.raise_request_exception = False
    yield desk.client
    translation.activate("en")


@pytest.fixture
def rows() -> dict[str, int]:
    """Every kind of row, as a Korean shop would have it."""
    project = make_project(name="가게", slug="가게", timezone="Asia/Seoul")
    person = make_contact(project, external_id="u001", attributes={"등급": "골드"}, locale="ko")
    device = make_device(person)
    make_device(person, platform="web", retired_at=timezone.now(), retired_reason="unregistered")
    rules = {
        "all": [
            {"field": "platform", "op": "in", "value": ["android", "ios"]},
            {"not": {"field": "created_at", "op": "within_last", "value": "PT1H"}},
        ]
    }
    texts = {"title": "안녕하세요", "body": "오늘의 혜택", "locales": {"en": {"title": "안녕"}}}
    of = {
        "audience": make_audience(project, name="단골", rules=rules),
        "template": make_template(project, name="환영", **texts),
    }
    run = make_run(project, **of, name="봄 세일", advanced=False)
    ended = {"planned": 9, "people": 9, "accepted": 5, "rejected": 2, "skipped": 1, "unknown": 1}
    for name, values in (
        ("여름 세일", {"state": "paused", "cause": Cause.LATE}),
        ("겨울 세일", {"state": "finished", "finished_at": timezone.now(), **ended}),
        ("휴일 세일", {"state": "scheduled", "scheduled_at": timezone.now() + timedelta(hours=30)}),
    ):
        made = make_run(project, **of, name=name, advanced=False)
        Run.objects.filter(pk=made.pk).update(**values)
    make_campaign(project, **of, name="가을 세일")
    lines = "id,이름,시간대\nu1,민준,Asia/Seoul\nu2,서연,없음\n"
    with translation.override("ko"):  # of whoever uploads it, and so of its reasons
        imported = bring_in(project, lines, name="단골.csv")
    answers: dict[str, Any] = {
        "template": of["template"],
        "unless_name": "bought",
        "delay_seconds": 3_600,
    }
    where = [{"property": "grade", "op": "eq", "value": "골드"}]
    cart = make_automation(project, name="장바구니", where=where, **answers)
    decided(cart, person.pk)
    make_automation(project, on=False, name="초안", template=of["template"])
    key, _ = ApiKey.issue(project, "가게 서버")
    ApiKey.objects.filter(pk=key.pk).update(prefix="car_4-Qxrmhj")  # chance, and yet like a word
    audit.record("user:ada", "launched", f"run {run.pk}", project=project)
    return {
        "campaigns_campaign": run.campaign_id,
        "campaigns_audience": of["audience"].pk,
        "campaigns_template": of["template"].pk,
        "campaigns_automation": cart.pk,
        "campaigns_run": run.pk,
        "run": run.pk,
        "notifications_contact": device.contact_id,
        "notifications_device": device.pk,
        "notifications_import": imported.pk,
        "import_": imported.pk,
        "notifications_project": project.pk,
        "notifications_apikey": key.pk,
        "notifications_auditentry": audit.AuditEntry.objects.latest("pk").pk,
        "auth_user": User.objects.create_user("minsu", is_staff=True).pk,
    }


def decided(automation: Automation, person: int) -> None:
    """An event not answered for each reason there is, and one that waits."""
    now = timezone.now()
    kept = {"automation": automation, "contact_id": person, "happened_at": now, "due_at": now}
    not_sent = [
        Trigger(**kept, state="not_sent", reason=reason, decided_at=now)
        for reason in NotSent.values
    ]
    Trigger.objects.bulk_create([*not_sent, Trigger(**kept, state="waiting")])


def test_no_page_holds_a_word_of_english(korean: Client, rows: dict[str, int]) -> None:
    left = []
    drawn = 0
    for page in pages():
        if page.name in GOES_OUT or (url := address(page, rows)) is None:
            continue
        reply = korean.get(url)
        if reply.status_code != 200 or not reply["Content-Type"].startswith("text/html"):
            continue
        drawn += 1
        if english := english_on(reply.content.decode()):
            left.append(f"{page.name}: {english}")
    assert drawn > 50
    assert not left, "\n".join(left)


def test_panels_beside_a_form_are_korean_too(korean: Client, rows: dict[str, int]) -> None:
    project = rows["notifications_project"]
    everyone = {"project": project, "kind": "rules", "rules": '{"all": []}'}
    asked = [
        ("audience_count", everyone),
        ("audience_people", everyone),
        ("audience_person", {**everyone, "person": "u001"}),
        ("audience_person", {**everyone, "person": "u999"}),
        ("template_preview", {"project": project, "title": "안녕 {{ 등급 }", "body": "혜택"}),
        ("template_variables", {"project": project}),
        ("automation_review", {"project": project, "event_name": "bought"}),
        ("automation_review", {"project": project, "event_name": "bought", "delay_seconds": "1시간",
         "once_in_seconds": "1일", "template": rows["campaigns_template"]}),
    ]  # fmt: skip
    for page, posted in asked:
        reply = korean.post(reverse(f"admin:{page}"), posted)
        assert reply.status_code == 200
        assert english_on(reply.content.decode()) == [], page


def test_each_step_of_an_import_is_korean(korean: Client, rows: dict[str, int]) -> None:
    """While a worker is at it, once it is checked, stopped and failed."""
    project = Project.objects.get(pk=rows["notifications_project"])
    lines = "id,이름,시간대\nu1,민준,\nu2,서연,없음\n"
    with translation.override("ko"):
        found = [upload(project, lines, name="단골.csv") for _ in range(4)]
        failed = upload(project, "1,2\n3,4\n", name="숫자.csv")
        check(mapped(found[1]))
        for one, state in zip(found[2:], ("checking", "stopped"), strict=True):
            Import.objects.filter(pk=one.pk).update(state=state)
    shown = [("notifications_import_change", one) for one in (*found, failed)]
    shown += [("notifications_import_start", found[1]), ("import_live", found[2])]
    for page, one in shown:
        reply = korean.get(reverse(f"admin:{page}", args=[one.pk]))
        assert english_on(reply.content.decode()) == [], (page, one.state)


REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("campaigns_audience_add", {"name": "", "kind": "rules", "rules": '{"al": 1}'}),
    ("campaigns_audience_add", {"kind": "list", "rules": "", "people": "u1", "mode": "add"}),
    ("campaigns_template_add", {"name": "환영", "title": "{{", "body": "{% wenn %}", "data": "["}),
    ("campaigns_template_add", {"name": "", "title": "", "options": '{"android": {"icon": 1}}'}),
    (
        "campaigns_automation_add",
        {
            "name": "",
            "event_name": "a\u200bb",
            "delay_seconds": "29일",
            "where-0-property": "grade",
            "where-0-op": "gt",
            "where-0-value": "골드",
        },
    ),
    (
        "campaigns_automation_add",
        {
            "name": "카트",
            "event_name": "bought",
            "delay_seconds": "",
            "unless_where-0-property": "grade",
            "unless_where-0-op": "exists",
        },
    ),
    ("notifications_contact_add", {"external_id": "", "locale": "Korean!", "attributes": "[]"}),
    ("notifications_device_add", {"person": "u999", "address": "ö", "kind": "", "platform": ""}),
    ("notifications_project_add", {"name": "", "slug": "a b", "timezone": "Seoul"}),
]


@pytest.mark.parametrize(("page", "posted"), REFUSED)
def test_a_refused_form_says_why_in_korean(
    korean: Client, rows: dict[str, int], page: str, posted: dict[str, Any]
) -> None:
    posted = {"project": rows["notifications_project"], **posted}
    html = korean.post(reverse(f"admin:{page}"), posted).content.decode()
    assert "errornote" in html or "error" in html
    assert english_on(html) == []


def test_the_pages_before_the_log_in_are_korean(client: Client, db: None) -> None:
    client.cookies["django_language"] = "ko"
    html = client.get(reverse("admin:login")).content.decode()
    assert '<html lang="ko"' in html and english_on(html) == []
    wrong = client.post(reverse("admin:login"), {"username": "minsu", "password": "x"})
    assert english_on(wrong.content.decode()) == []
    translation.activate("en")
