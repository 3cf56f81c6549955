"""A wrong text of a run whose texts differ in languages is corrected for its readers only."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from campaigns import control
from campaigns.corrections.change_running_text import NewText
from campaigns.engine import engine
from campaigns.planning.campaign import Campaign
from campaigns.runs.ledger import Delivery, Recipient
from campaigns.runs.run import Run
from notifications.people.contact import Contact
from notifications.people.project import Project
from tests.admin.desk import Desk, text_of
from tests.api.caller import Caller, fields_at_fault
from tests.given.builders import make_contact, make_device
from tests.given.runs import ended, on_list
from tests.variants.shared import TITLES, make_split

KOREAN = {"ko": {"title": "가"}}
A, B, C = 0, 1, 2


def make_readers(project: Project, *locales: str, each: int = 12) -> None:
    for locale in locales:
        for number in range(each):
            name = f"{locale or 'none'}-{number}"
            make_device(make_contact(project, external_id=name, locale=locale))


def launched(project: Project, korean: set[int], weights: tuple[int, ...] = (50, 50)) -> Run:
    """Of these variants the text is in Korean, too."""
    campaign = make_split(project, weights)
    texts = [campaign.template, *(one.template for one in campaign.variants.order_by("number"))]
    for number in korean:
        texts[number].locales = KOREAN
        texts[number].save()
    run = control.launch(campaign, by="user:alice", now=timezone.now())
    engine.advance(run.pk, now=timezone.now())
    run.refresh_from_db()
    return run


def readers(run: Run, *, of: set[int], locales: set[str]) -> set[str]:
    names = dict(Contact.objects.values_list("pk", "external_id"))
    rows = Recipient.objects.filter(run_id=run.pk, variant__in=of)
    found = {names[row.contact_id] for row in rows}
    found = {name for name in found if name.split("-")[0] in locales}
    assert found, "a test of somebody"
    return found


def corrected(run: Run, **asked: Any) -> Campaign:
    reply = Caller(run.project).post(f"runs/{run.pk}/correct", asked)
    assert reply.status_code == 201, reply.content
    return Campaign.objects.get(pk=reply.json()["id"])


def listed(run: Run, **asked: Any) -> set[str]:
    return on_list(corrected(run, **asked).audience)


def test_people_are_found_by_the_text_that_their_own_variant_has_for_them(
    project: Project,
) -> None:
    make_readers(project, "ko", "en", "none")
    run = ended(launched(project, korean={A}))
    every = {"ko", "en", "none"}

    of_b = readers(run, of={B}, locales=every)
    assert listed(run, variant="B", text="main") == of_b
    assert listed(run, text="ko") == readers(run, of={A}, locales={"ko"})
    assert listed(run, text="main") == of_b | readers(run, of={A}, locales={"en", "none"})
    assert listed(run, variant="A", text="main") == readers(run, of={A}, locales={"en", "none"})
    assert listed(run) == readers(run, of={A, B}, locales=every)


def test_a_language_that_the_variant_lacks_is_refused_by_name(project: Project) -> None:
    make_readers(project, "ko", "en")
    run = ended(launched(project, korean={A}))
    reply = Caller(project).post(f"runs/{run.pk}/correct", {"variant": "B", "text": "ko"})
    assert (reply.status_code, fields_at_fault(reply)) == (400, ["text"])
    assert "Use one of every, main." in reply.json()["errors"][0]["message"]
    assert not Campaign.objects.exclude(corrects=None).exists()


def test_the_page_refuses_a_language_that_the_variant_lacks(desk: Desk, project: Project) -> None:
    make_readers(project, "ko", "en")
    run = ended(launched(project, korean={A}))
    refused = text_of(desk.confirm("campaigns_run_correct", run.pk, variant=B, text="ko"))
    assert "Nobody got a text “ko” of this variant" in refused
    assert not Campaign.objects.exclude(corrects=None).exists()


def test_the_draft_has_the_text_of_a_variant_that_its_readers_got(project: Project) -> None:
    make_readers(project, "ko", "en")
    run = ended(launched(project, korean={B}))
    assert corrected(run, text="ko").template.title == TITLES[B]
    assert corrected(run, text="main").template.title == TITLES[A]


def test_five_variants_in_other_languages_are_told_apart(project: Project) -> None:
    make_readers(project, "ko", "en", each=40)
    run = ended(launched(project, korean={A, C}, weights=(20, 20, 20, 20, 20)))
    others = readers(run, of={B, 3, 4}, locales={"ko", "en"})
    assert listed(run, text="main") == others | readers(run, of={A, C}, locales={"en"})


def test_people_without_a_language_read_the_main_text(project: Project) -> None:
    make_readers(project, "ko", "")
    run = ended(launched(project, korean={A, B}))
    assert listed(run, text="main") == readers(run, of={A, B}, locales={"none"})


@pytest.fixture
def translated(project: Project) -> Run:
    """Korean came under way: of each language, the even ones got the launch's text."""
    make_readers(project, "ko", "en", each=4)
    run = launched(project, korean=set(), weights=(100,))
    new = NewText(1, {"locales": KOREAN}, accept_skips=True)
    assert control.change_text(run, new=new, by="user:alice") == 2
    run = ended(run)
    names = dict(Contact.objects.values_list("pk", "external_id"))
    odd = [
        row.seq
        for row in Recipient.objects.filter(run_id=run.pk)
        if int(names[row.contact_id].split("-")[1]) % 2
    ]
    Delivery.objects.filter(run_id=run.pk, seq__in=odd).update(revision=2)
    return run


def test_a_language_that_came_under_way_was_read_only_by_those_who_got_that_revision(
    translated: Run,
) -> None:
    run, first = translated, {"ko-0", "ko-2", "en-0", "en-2"}
    assert listed(run, text="ko") == {"ko-1", "ko-3"}
    assert listed(run, text="ko", revision=2) == {"ko-1", "ko-3"}
    assert listed(run, text="main", revision=1) == first
    assert listed(run, text="main", revision=2) == {"en-1", "en-3"}
    assert listed(run, text="main") == first | {"en-1", "en-3"}
    reply = Caller(run.project).post(f"runs/{run.pk}/correct", {"revision": 1, "text": "ko"})
    assert (reply.status_code, fields_at_fault(reply)) == (400, ["text"])


def test_the_page_offers_a_language_that_came_under_way(desk: Desk, translated: Run) -> None:
    run = translated
    assert "Only “ko”" in desk.open("campaigns_run_correct", run.pk)
    desk.confirm("campaigns_run_correct", run.pk, text="main", revision="older")
    made = Campaign.objects.get(corrects=run)
    assert on_list(made.audience) == {"ko-0", "ko-2", "en-0", "en-2"}


def test_people_who_cannot_be_told_apart_by_revision_are_to_be_chosen_one_by_one(
    project: Project,
) -> None:
    make_readers(project, "ko", each=1)
    run = launched(project, korean=set(), weights=(100,))
    for revision in range(1, 7):
        texts = {"title": f"Text {revision}"} | ({"locales": KOREAN} if revision == 1 else {})
        new = NewText(revision, texts, accept_skips=True)
        control.change_text(run, new=new, by="user:alice")
        run.refresh_from_db()
    run = ended(run)
    reply = Caller(project).post(f"runs/{run.pk}/correct", {"text": "ko"})
    assert reply.status_code == 409
    assert "Choose one revision" in reply.json()["detail"]


def test_the_page_says_whose_text_everybody_gets(desk: Desk, project: Project) -> None:
    make_readers(project, "en")
    run = ended(launched(project, korean=set()))
    said = desk.open("campaigns_run_correct", run.pk)
    assert "all recipients get one text" in said and "choose a variant" in said
