"""Beside a template: who reads which language of it; its texts taken out, and brought back in."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from campaigns.audiences import vocabulary
from campaigns.texts.template import Template
from campaigns.texts.translating import readers
from notifications.people.contact import Contact
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from notifications.staff.team import Role
from tests.admin.desk import Desk, messages_of, text_of
from tests.given.builders import make_contact, make_template
from tests.roles.people import logged_in

pytestmark = pytest.mark.django_db
KO = {"ko": {"title": "{{ first_name }}님"}}
GOOD = "id,ko,de\r\ntitle,{{ first_name }} 안녕,Hallo {{ first_name }}\r\n"


def people(project: Project, **counts: int) -> None:
    Contact.objects.bulk_create(
        Contact(project=project, external_id=f"{tag}{number}", locale=tag.replace("_", "-"))
        for tag, count in counts.items()
        for number in range(count)
    )


def look(desk: Desk, template: Template, text: str, name: str = "back.csv") -> Any:
    file = SimpleUploadedFile(name, text.encode())
    return desk.post("template_translations", template.pk, file=file)


def save(desk: Desk, template: Template, looked: Any, text: str) -> Any:
    seen = looked.context["seen"]
    kind = looked.context["kind"]
    return desk.post("template_translations", template.pk, text=text, seen=seen, kind=kind)


def test_each_language_of_the_people_is_listed_with_the_way_to_its_text(
    desk: Desk, project: Project
) -> None:
    people(project, ko_KR=3, zh_TW=2, fr_CA=4)
    others = {"zh-Hant": {"title": "你好"}, "de": {"title": "x"}}
    template = make_template(project, locales={**KO, **others})
    found = readers.count_readers(template.written(), project.pk)
    ways = {one.tag: ([step.tag for step in one.steps], one.people) for one in found.chains}
    assert ways == {
        "fr-CA": (["fr-CA", "fr", ""], 4),
        "ko-KR": (["ko-KR", "ko"], 3),
        "zh-TW": (["zh-TW", "zh-Hant"], 2),
        "de": (["de"], 0),
    }
    assert [one.tag for one in found.missing] == ["fr-CA"]
    assert found.exact
    page = desk.open("template_languages", template.pk)
    assert "Without a text of their own" in page
    assert "fr-CA fr-CA → fr → main text 4" in page
    assert "ko-KR ko-KR → ko 3" in page


def test_many_people_are_estimated_from_a_sample(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vocabulary, "PEOPLE_READ", 400)
    people(project, ko=1_500, de=500)
    found, exact = vocabulary.languages(project.pk)
    counts = {one.tag: one.people for one in found}
    assert not exact
    assert sum(counts.values()) == pytest.approx(2_000, abs=2)
    assert counts["ko"] == pytest.approx(1_500, rel=0.2)


def test_the_people_of_another_project_read_nothing_of_it(
    desk: Desk, project: Project, museum: Project
) -> None:
    make_contact(museum, locale="ko")
    template = make_template(project)
    assert "There are no people yet to read it." in desk.open("template_languages", template.pk)
    make_contact(project, locale="ja")
    page = desk.open("template_languages", template.pk)
    assert "ja → main text" in page and "ko" not in page


def test_the_file_has_a_place_for_each_language_that_is_missing(
    desk: Desk, project: Project
) -> None:
    people(project, fr=2)
    template = make_template(project, locales=KO)
    card = desk.client.get(f"/admin/campaigns/template/{template.pk}/languages/").content.decode()
    assert "texts.csv?languages=fr" in card
    reply = desk.client.get(f"/admin/campaigns/template/{template.pk}/texts.csv?languages=fr,<x>")
    assert reply.content.decode("utf-8-sig").partition("\r\n")[0] == "id,field,source,ko,fr"
    assert "attachment" in reply["Content-Disposition"]
    xliff = desk.client.get(f"/admin/campaigns/template/{template.pk}/texts.xliff?languages=fr")
    assert 'target-language="fr"' in xliff.content.decode()


def test_a_file_is_looked_at_and_then_saved_as_a_revision(desk: Desk, project: Project) -> None:
    template = make_template(project, locales=KO)
    looked = look(desk, template, GOOD)
    assert "Save 2 texts" in text_of(looked)
    template.refresh_from_db()
    assert template.locales == KO

    saved = save(desk, template, looked, GOOD)
    assert messages_of(saved) == ["2 texts were saved."]
    template.refresh_from_db()
    assert template.locales == {
        "ko": {"title": "{{ first_name }} 안녕"}, "de": {"title": "Hallo {{ first_name }}"}
    }  # fmt: skip
    last = template.revisions.first()
    assert last is not None and (last.number, last.by) == (2, "user:ada")
    assert AuditEntry.objects.latest("pk").action == "brought translations into"


def test_texts_that_lost_a_variable_are_listed_and_the_others_saved(
    desk: Desk, project: Project
) -> None:
    template = make_template(project, locales=KO)
    text = "id,ko,de\r\ntitle,안녕,Hallo {{ first_name }}\r\n"
    looked = look(desk, template, text)
    page = text_of(looked)
    assert "1 text is not taken" in page
    assert "2 Title ko Missing: {{ first_name }}." in page
    save(desk, template, looked, text)
    template.refresh_from_db()
    assert template.locales == {**KO, "de": {"title": "Hallo {{ first_name }}"}}


def test_nothing_is_saved_over_what_somebody_saved_since(desk: Desk, project: Project) -> None:
    template = make_template(project, locales=KO)
    looked = look(desk, template, GOOD)
    form = {"name": template.name, "title": "New {{ first_name }}", "body": "B", "data": "{}"}
    desk.save("campaigns_template_change", template.pk, **form, options="{}", locales="{}")
    refused = save(desk, template, looked, GOOD)
    assert "Somebody saved this template in the meantime." in messages_of(refused)[0]
    template.refresh_from_db()
    assert template.locales == {}


@pytest.mark.parametrize(
    ("text", "name", "words"),
    [
        ("title,ko\r\n", "back.csv", "must name the columns"),
        ("<!DOCTYPE x><xliff/>", "back.xliff", "no place in this file"),
        ("id,ko\r\ntitle," + "x" * 1_000_001, "back.csv", "at most 1,000,000 bytes are read"),
        ("", "back.csv", "empty"),
    ],
)
def test_a_file_that_cannot_be_read_says_why(
    desk: Desk, project: Project, text: str, name: str, words: str
) -> None:
    page = text_of(look(desk, make_template(project), text, name))
    assert words in page
    assert "What saving would change" not in page


def test_who_may_only_look_takes_files_out_and_brings_none_in(
    client: Client, project: Project
) -> None:
    template = make_template(project, locales=KO)
    viewer = logged_in(Role.VIEWER)
    start = f"/admin/campaigns/template/{template.pk}"
    card = viewer.get(f"{start}/languages/").content.decode()
    assert "Export as CSV" in card and "Import translations" not in card
    assert viewer.get(f"{start}/texts.csv").status_code == 200
    assert viewer.get(f"{start}/translations/").status_code == 403


def test_the_list_names_eight_languages_of_a_text_and_counts_the_others(
    desk: Desk, project: Project
) -> None:
    few, many = ("de", "es", "fr"), ("ar", "de", "es", "fr", "it", "ja", "ko", "nl", "pl", "vi")
    for tags in (few, many):
        make_template(project, locales={tag: {"title": "x"} for tag in tags})
    page = desk.open("campaigns_template_changelist")
    assert "main text, de, es, fr" in page
    assert "main text, ar, de, es, fr, it, ja, ko, nl and 2 more" in page
