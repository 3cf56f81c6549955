"""What people want, on the pages: a person's answers, the categories, the suppression list."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from campaigns.planning.pages import category as category_page
from campaigns.planning.pages import category as kind_dialog
from notifications.people.consent.category import Category
from notifications.people.consent.change import ConsentChange
from notifications.people.consent.record import EVERYTHING, ConsentAnswer, record_answers
from notifications.people.consent.suppression import Suppression, suppress
from notifications.people.contact import Contact
from notifications.people.project import Project
from notifications.postgres.budget import TooSlow
from notifications.staff.audit import AuditEntry
from tests.admin.desk import Desk, messages_of, text_of
from tests.given.builders import make_campaign, make_contact, make_project, make_run

pytestmark = pytest.mark.django_db
PEOPLE, SUPPRESSED = "notifications_contact", "notifications_suppression"


@pytest.fixture
def offers(project: Project) -> Category:
    return Category.objects.create(project=project, name="Offers", slug="offers")


def decline(contact: Contact, *categories: str) -> None:
    words = [ConsentAnswer(contact.external_id, category, False) for category in categories]
    record_answers(contact.project, words, source="api", by="key:abc", now=timezone.now())


# --- A person ---------------------------------------------------------------------------------


def test_the_page_of_a_person_says_what_they_want_since_when_and_who_told_us(
    desk: Desk, project: Project, offers: Category
) -> None:
    Category.objects.create(project=project, name="Alarms", slug="alarms", kind="critical")
    contact = make_contact(project)
    assert "All marketing Yes They never answered." in desk.open(f"{PEOPLE}_change", contact.pk)
    decline(contact, EVERYTHING, "offers")
    said = desk.open(f"{PEOPLE}_change", contact.pk).partition("What they want")[2]
    assert "All marketing No Since" in said and "by the API key abc… (API)" in said
    assert "Offers Not received All marketing is off. Their no is kept: since" in said
    assert "Alarms Always sent This kind needs no consent." in said
    assert "History" in said and "Suppressed" not in said


def test_an_editor_changes_what_a_person_wants(
    desk: Desk, project: Project, offers: Category
) -> None:
    contact = make_contact(project)
    dialog = desk.open(f"{PEOPLE}_change_consent", contact.pk)
    assert "All marketing" in dialog and "Offers" in dialog
    shown = f"everything about_{offers.pk}"
    reply = desk.confirm(f"{PEOPLE}_change_consent", contact.pk, shown=shown, everything="on")
    assert messages_of(reply) == ["Saved."]
    contact.refresh_from_db()
    assert (contact.subscribed, contact.subscribed_at) == (True, None)
    assert contact.preferences["offers"]["wanted"] is False
    change = ConsentChange.objects.get()
    assert (change.category, change.wanted, change.source) == ("offers", False, "page")
    assert change.by.startswith("user:")
    entry = AuditEntry.objects.get(action="changed consent")
    assert (entry.subject_name, entry.changes, entry.detail) == ("", {}, {"answers": 1})


def test_an_unchanged_tick_does_not_overrule_a_newer_answer(desk: Desk, project: Project) -> None:
    contact = make_contact(project)
    decline(contact, EVERYTHING)  # after the dialog was opened
    reply = desk.confirm(
        f"{PEOPLE}_change_consent", contact.pk, shown="everything", everything="on"
    )
    assert messages_of(reply) == ["Nothing was changed."]
    contact.refresh_from_db()
    assert contact.subscribed is False
    assert not AuditEntry.objects.filter(action="changed consent").exists()


def test_answers_about_categories_are_kept_while_all_marketing_is_off(
    desk: Desk, project: Project, offers: Category
) -> None:
    contact = make_contact(project)
    field = f"about_{offers.pk}"
    # A browser does not send what is disabled.
    desk.confirm(f"{PEOPLE}_change_consent", contact.pk, shown=f"everything {field}")
    contact.refresh_from_db()
    assert (contact.subscribed, contact.preferences) == (False, {})

    said = desk.open(f"{PEOPLE}_change", contact.pk).partition("What they want")[2]
    assert "Offers Not received All marketing is off. They never answered." in said
    url = reverse(f"admin:{PEOPLE}_change_consent", args=[contact.pk])
    dialog = desk.client.get(url, headers={"HX-Request": "true"}).content.decode()
    box = dialog.partition(f'name="{field}"')[2].partition(">")[0]
    assert "disabled" in box and "data-kept" in box and not re.search(" checked[ >]", f"{box}>")
    assert "nothing below is received" in dialog

    reply = desk.confirm(
        f"{PEOPLE}_change_consent", contact.pk, shown=field, everything="on", **{field: "on"}
    )
    assert messages_of(reply) == ["Saved."]
    contact.refresh_from_db()
    assert (contact.subscribed, contact.preferences) == (True, {})


def test_an_answer_that_has_no_effect_now_is_shown_as_kept(
    desk: Desk, project: Project, offers: Category
) -> None:
    contact = make_contact(project)
    decline(contact, "offers")
    yes = [ConsentAnswer(contact.external_id, "offers", True)]
    record_answers(
        contact.project, yes, source="api", by="key:abc", now=timezone.now() + timedelta(seconds=9)
    )
    decline(contact, EVERYTHING)
    said = desk.open(f"{PEOPLE}_change", contact.pk).partition("What they want")[2]
    assert "Offers Not received All marketing is off. Their yes is kept: since" in said
    suppress(project, [contact.external_id], reason="", by="x", now=timezone.now())
    said = desk.open(f"{PEOPLE}_change", contact.pk).partition("What they want")[2]
    assert "All marketing Suppressed Their no is kept: since" in said
    assert "Offers Suppressed Their yes is kept: since" in said


def test_a_correction_by_hand_does_not_overrule_a_no_that_came_meanwhile(project: Project) -> None:
    contact = make_contact(project)
    read_before = Contact.objects.get(pk=contact.pk)
    decline(contact, EVERYTHING)
    read_before.locale = "ko"
    read_before.save()
    contact.refresh_from_db()
    assert (contact.locale, contact.subscribed) == ("ko", False)


def test_the_page_of_a_suppressed_person_says_so(desk: Desk, project: Project) -> None:
    contact = make_contact(project)
    suppress(project, [contact.external_id], reason="complaint", by="x", now=timezone.now())
    Category.objects.create(project=project, name="Alarms", slug="alarms", kind="critical")
    said = desk.open(f"{PEOPLE}_change", contact.pk)
    assert f"{contact.external_id} Suppressed: nothing is sent to this person. complaint" in said
    wants = said.partition("What they want")[2].partition("What is known")[0]
    assert "All marketing Suppressed" in wants and "Alarms Suppressed" in wants
    assert "Yes" not in wants and "Always sent" not in wants and "Receives" not in said
    assert "Suppressed: nothing" in desk.open(f"{PEOPLE}_change_consent", contact.pk)
    assert "Never send anything" not in said


def test_the_list_of_people_says_who_is_suppressed(desk: Desk, project: Project) -> None:
    ada, _bo = make_contact(project, external_id="ada"), make_contact(project, external_id="bo")
    suppress(make_project(), ["bo"], reason="", by="x", now=timezone.now())
    assert "Suppressed" not in desk.open(f"{PEOPLE}_changelist")
    suppress(project, [ada.external_id], reason="", by="x", now=timezone.now())
    listed = desk.open(f"{PEOPLE}_changelist")
    assert listed.count("Suppressed") == 1
    assert listed.index("ada") < listed.index("Suppressed")


def test_the_page_of_a_person_leads_to_the_suppression_list_with_their_id(
    desk: Desk, project: Project
) -> None:
    contact = make_contact(project, external_id="u/1 & 2")
    page = desk.client.get(f"/admin/notifications/contact/{contact.pk}/change/").content.decode()
    link = page.partition("/suppression/add/")[2].partition('"')[0]
    asked = desk.client.get(f"/admin/notifications/suppression/add/{link}").content.decode()
    assert "u/1 &amp; 2</textarea>" in asked


# --- Categories -------------------------------------------------------------------------------


def test_a_category_is_told_to_go_at_any_hour_and_a_page_that_does_not_ask_leaves_it_so(
    desk: Desk, project: Project
) -> None:
    asked = {"name": "Offers", "slug": "offers", "kind": "marketing"}
    desk.save("notifications_category_add", **asked, quiet_hours="send")
    offers = Category.objects.get()
    assert offers.quiet_hours == "send"
    desk.save("notifications_category_change", offers.pk, name="Deals")
    offers.refresh_from_db()
    assert (offers.name, offers.quiet_hours) == ("Deals", "send")
    desk.save("notifications_category_change", offers.pk, name="Deals", quiet_hours="wait")
    offers.refresh_from_db()
    assert offers.quiet_hours == "wait"
    assert "Select a valid choice" in desk.save(
        "notifications_category_change", offers.pk, name="Deals", quiet_hours="never"
    )


def test_a_category_is_added_changed_and_listed_with_who_declined_it(
    desk: Desk, project: Project
) -> None:
    desk.save("notifications_category_add", name="Offers", slug="offers", kind="marketing")
    offers = Category.objects.get()
    assert (offers.project, offers.kind) == (project, "marketing")
    for _ in range(2):
        decline(make_contact(project), "offers")
    decline(make_contact(project), "news")
    make_campaign(project, category=offers)
    listed = desk.open("notifications_category_changelist")
    assert "Goes to people who are subscribed and did not decline this category." in listed
    assert "2 people" in listed and "1 campaign" in listed
    desk.save("notifications_category_change", offers.pk, name="Deals", kind="transactional")
    offers.refresh_from_db()
    assert (offers.name, offers.slug, offers.kind) == ("Deals", "offers", "marketing")
    assert [*AuditEntry.objects.order_by("id").values_list("action", flat=True)][-1] == "changed"


def test_a_dialog_says_how_many_are_out_of_a_category_before_its_kind_changes(
    desk: Desk, project: Project, offers: Category
) -> None:
    for _ in range(2):
        decline(make_contact(project), "offers")
    decline(make_contact(project), "")
    decline(make_contact(project), "news")
    asked = desk.open("notifications_category_change_kind", offers.pk)
    assert "3 people are out of this category" in asked and "it goes to them, too" in asked
    offers.refresh_from_db()
    assert offers.kind == "marketing"
    reply = desk.confirm("notifications_category_change_kind", offers.pk, kind="critical")
    assert messages_of(reply) == ["The kind is changed."]
    offers.refresh_from_db()
    assert offers.kind == "critical"
    entry = AuditEntry.objects.latest("id")
    assert (entry.action, entry.changes) == ("changed", {"kind": ["marketing", "critical"]})
    assert "out of this category" not in desk.open("notifications_category_change_kind", offers.pk)


def test_the_dialog_of_a_kind_says_where_too_many_are_out_to_be_counted(
    desk: Desk, offers: Category, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kind_dialog, "out_of_marketing", lambda category: None)
    asked = desk.open("notifications_category_change_kind", offers.pk)
    assert "There are too many to count." in asked


def test_a_category_in_use_is_not_deleted(desk: Desk, project: Project, offers: Category) -> None:
    campaign = make_campaign(project, category=offers)
    said = desk.save("notifications_category_delete", offers.pk, post="yes")
    assert f"It is used by the campaign “{campaign}”." in said
    campaign.delete()
    desk.save("notifications_category_delete", offers.pk, post="yes")
    assert not Category.objects.exists()


def test_a_category_that_a_run_was_launched_with_is_not_deleted(
    desk: Desk, project: Project, offers: Category
) -> None:
    run = make_run(project, category=offers, advanced=False)
    run.campaign.category = None
    run.campaign.save()
    said = desk.save("notifications_category_delete", offers.pk, post="yes")
    assert f"It is used by run {run.pk}." in said


def test_counting_who_declined_ends_in_time(
    desk: Desk, project: Project, offers: Category, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_slow(**_seconds: Any) -> Any:
        raise TooSlow

    monkeypatch.setattr(category_page, "statement_timeout", too_slow)
    assert "too many to count" in desk.open("notifications_category_changelist")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"name": "Offers", "slug": "offers"}, "There is a category with this short name already."),
        ({"name": "Other", "slug": "a b"}, "Enter a valid"),
        ({"name": "Other", "slug": "other", "kind": "urgent"}, "Select a valid choice"),
    ],
)
def test_a_category_that_makes_no_sense_is_refused(
    desk: Desk, project: Project, offers: Category, values: dict[str, str], said: str
) -> None:
    assert said in desk.save("notifications_category_add", **{"kind": "marketing", **values})
    assert Category.objects.count() == 1


def test_a_campaign_offers_the_categories_of_its_own_project(
    desk: Desk, project: Project, offers: Category
) -> None:
    Category.objects.create(project=make_project(), name="Strange", slug="strange")
    page = desk.open("campaigns_campaign_change", make_campaign(project).pk, step="who")
    assert "No category: goes to everyone who is subscribed" in page
    assert "Offers" in page and "Strange" not in page


# --- The suppression list ---------------------------------------------------------------------


def test_ids_are_pasted_onto_the_suppression_list(desk: Desk, project: Project) -> None:
    suppress(project, ["known"], reason="", by="x", now=timezone.now())
    pasted = "ada\r\n u/7 \n\nada\nknown\n"
    said = desk.save(f"{SUPPRESSED}_add", people=pasted, reason="complaint")
    assert "2 people get nothing from now on. 1 was listed already." in said
    found = Suppression.objects.order_by("external_id").values_list("external_id", "reason")
    assert [*found] == [("ada", "complaint"), ("known", ""), ("u/7", "complaint")]
    entry = AuditEntry.objects.get(action="suppressed")
    assert (entry.detail, entry.subject_name, entry.project) == ({"added": 2}, "", project)
    only_known = desk.save(f"{SUPPRESSED}_add", people="known", reason="")
    assert "0 people get nothing from now on. 1 was listed already." in only_known


@pytest.mark.parametrize(
    ("pasted", "said"),
    [
        ("  \n ", "This field is required."),
        ("\n".join(map(str, range(10_001))), "At most 10,000 ids; there are 10,001."),
        ("ada\n" + "x" * 201, "Line 2: an id has at most 200 characters; this one has 201."),
    ],
)
def test_a_text_that_is_no_list_of_ids_is_refused(
    desk: Desk, project: Project, pasted: str, said: str
) -> None:
    assert said in desk.save(f"{SUPPRESSED}_add", people=pasted, reason="")
    assert not Suppression.objects.exists()


def test_a_suppressed_person_is_found_by_the_start_of_their_id_and_taken_off_after_a_question(
    desk: Desk, project: Project
) -> None:
    now = timezone.now()
    suppress(project, ["ada-1", "bob-1"], reason="", by="user:bob", now=now)
    suppress(make_project(), ["ada-of-another"], reason="", by="user:bob", now=now)
    listed = desk.open(f"{SUPPRESSED}_changelist", q="ada")
    assert "ada-1" in listed and "bob-1" not in listed and "ada-of-another" not in listed
    ada = Suppression.objects.get(external_id="ada-1")
    assert "This person can get messages again" in desk.open(f"{SUPPRESSED}_delete", ada.pk)
    reply = desk.post(f"{SUPPRESSED}_delete", ada.pk, post="yes")
    assert reply.status_code == 302 and text_of(reply) is not None
    assert not Suppression.objects.filter(pk=ada.pk).exists()
    entry = AuditEntry.objects.get(action="deleted")
    assert (entry.subject_kind, entry.subject_name) == ("suppression", "")
    assert "ada" not in entry.about
