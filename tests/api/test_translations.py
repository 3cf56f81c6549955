"""A template's texts as files through the API: out, looked at, brought in, refused row by row."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest

from campaigns.texts.template import Template
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from tests.api.caller import Caller, fields_at_fault
from tests.given.builders import make_project, make_snippet, make_template

SAYS: dict[str, Any] = {
    "title": "Hello {{ first_name | default: 'there' }}",
    "body": "=Sale= in {{ city }}\nCome by",
    "data": {"screen": "offers"},
    "locales": {
        "ko": {"title": "{{ first_name | default: '고객' }}님", "data": {"screen": "혜택"}}
    },
}
HEAD = "id,field,source,ko\r\n"


@pytest.fixture
def template(project: Project) -> Template:
    return make_template(project, **SAYS)


@pytest.fixture
def call(project: Project) -> Caller:
    return Caller(project)


def bring(call: Caller, template: Template, text: str, **more: Any) -> dict[str, Any]:
    path = f"templates/{template.pk}/translations"
    answer = call.post(path, {"format": "csv", "text": text, **more})
    assert answer.status_code == 200, answer.content
    return dict(answer.json())


def test_the_csv_has_a_row_for_each_text_and_no_formula(call: Caller, template: Template) -> None:
    answer = call.get(f"templates/{template.pk}/texts.csv?languages=pt_br,ko")
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    text = answer.content.decode("utf-8-sig")
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert rows == [
        ["id", "field", "source", "ko", "pt-BR"],
        ["title", "Title", SAYS["title"], SAYS["locales"]["ko"]["title"], ""],
        ["body", "Body", "'" + SAYS["body"], "", ""],
        ["data.screen", "Data · screen", "offers", "혜택", ""],
    ]


def test_the_xliff_marks_variables_and_names_both_languages(
    call: Caller, template: Template
) -> None:
    answer = call.get(f"templates/{template.pk}/texts.xliff?languages=de&source=en-GB")
    text = answer.content.decode()
    assert 'source-language="en-GB" target-language="de"' in text
    assert 'target-language="ko"' in text
    assert '<ph id="1">{{ city }}</ph>' in text


def test_a_first_line_that_names_the_delimiter_is_no_header(
    call: Caller, template: Template
) -> None:
    text = "sep=;\r\nid;ko\r\nbody;{{ city }}, 세일\r\n"
    (change,) = bring(call, template, text)["changes"]
    assert change["after"] == "{{ city }}, 세일"


def test_a_file_is_looked_at_first_and_saved_when_asked(call: Caller, template: Template) -> None:
    text = HEAD + 'body,,,"{{ city }}에서 세일"\r\n'
    looked = bring(call, template, text)
    assert (looked["saved"], looked["refused"]) == (False, [])
    assert looked["changes"] == [
        {"language": "ko", "id": "body", "before": "", "after": "{{ city }}에서 세일"}
    ]
    template.refresh_from_db()
    assert template.locales == SAYS["locales"]

    saved = bring(call, template, text, save=True, revision=looked["revision"])
    assert saved["saved"] is True
    template.refresh_from_db()
    assert template.locales["ko"] == {**SAYS["locales"]["ko"], "body": "{{ city }}에서 세일"}
    assert list(template.revisions.values_list("number", flat=True)) == [2, 1]
    entry = AuditEntry.objects.latest("pk")
    assert (entry.subject_kind, entry.action) == ("template", "changed")

    path = f"templates/{template.pk}/translations"
    stale = {"format": "csv", "text": text, "save": True, "revision": looked["revision"]}
    assert call.post(path, stale).status_code == 409


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("body,,,세일", "Missing: {{ city }}."),
        ("body,,,{{ city }} {{ plan }}", "The main text does not say {{ plan }}."),
        ("body,,,{{ ciudad }}", "Missing: {{ city }}."),
        ("title,,,{{ first_name }}님", "Without its fallback: {{ first_name }}."),
        ("body,,,{{ city", "never closed"),
        ("body,,Something else,{{ city }}", "The main text has changed"),
        ("subtitle,,,x", "There is no text “subtitle”"),
        ("data.other,,,x", "There is no text “data.other”"),
    ],
)
def test_a_text_that_lost_something_is_refused_with_its_row_and_the_others_are_taken(
    call: Caller, template: Template, row: str, words: str
) -> None:
    text = HEAD + f"data.screen,,offers,화면\r\n{row}\r\n"
    brought = bring(call, template, text, save=True)
    (refused,) = brought["refused"]
    assert (refused["row"], refused["language"]) == (3, "ko")
    assert refused["id"] == row.partition(",")[0]
    assert words in refused["message"]
    template.refresh_from_db()
    assert template.locales["ko"] == {**SAYS["locales"]["ko"], "data": {"screen": "화면"}}


def test_a_mention_of_a_snippet_survives_as_a_variable_does(call: Caller, project: Project) -> None:
    make_snippet(project, "footer", "Shop")
    template = make_template(project, title="A", body="Come. {{ snippet.footer }}")
    text = HEAD + "body,,,오세요\r\n"
    (refused,) = bring(call, template, text)["refused"]
    assert "Missing: {{ snippet.footer }}." in refused["message"]


DOCTYPE = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "b">]><xliff version="1.2">&a;</xliff>'
OUTSIDE = '<!DOCTYPE x SYSTEM "file:///etc/passwd"><xliff version="1.2"/>'


@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [
        ("csv", "title,ko\r\nx,y\r\n", "must name the columns"),
        ("csv", "id,field,source\r\ntitle,,\r\n", "no column of a language"),
        ("csv", "id,ko,ko\r\n", "two columns “ko”"),
        ("csv", 'id,ko\r\ntitle,"x\r\n', "Line 2"),
        ("csv", 'sep=,\r\nid,ko\r\ntitle,"x\r\n', "Line 3"),
        ("csv", "sep=,\r\nid,ko\r\ntitle,x,y\r\n", "Row 3 has more cells"),
        ("csv", "id,ko\r\ntitle,x,y\r\n", "more cells"),
        ("csv", "id,ko\r\n" + "title,\r\n" * 1_001, "More than 1,000 rows"),
        ("xliff", DOCTYPE, "no place in this file"),
        ("xliff", OUTSIDE, "no place in this file"),
        ("xliff", "<xliff", "Line 1"),
        ("xliff", "<html/>", "no XLIFF 1.2"),
        (
            "xliff",
            '<xliff version="2.0" xmlns="urn:oasis:names:tc:xliff:document:2.0"/>',
            "no XLIFF",
        ),
        ("xliff", "<a>" * 60 + "</a>" * 60, "more in this file"),
        ("csv", "x" * 1_000_001, "1000000"),
    ],
)
def test_a_file_that_is_none_of_ours_is_refused_as_a_whole(
    call: Caller, template: Template, kind: str, text: str, words: str
) -> None:
    path = f"templates/{template.pk}/translations"
    answer = call.post(path, {"format": kind, "text": text, "save": True})
    assert (answer.status_code, fields_at_fault(answer)) == (400, ["text"])
    assert words in answer.json()["errors"][0]["message"]
    template.refresh_from_db()
    assert template.locales == SAYS["locales"]


def test_a_tools_own_xliff_is_read_whatever_it_adds(call: Caller, template: Template) -> None:
    text = """<?xml version="1.0" encoding="UTF-8"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2" xmlns:x="urn:tool">
<file original="t" datatype="plaintext" source-language="en" target-language="de"><header/><body>
<group><trans-unit id="body" x:score="3"><source>=Sale= in <ph id="1">{{ city }}</ph>
Come by</source><target state="final">Ausverkauf in <ph id="1">{{ city }}</ph></target>
<alt-trans><target>Nicht dies</target></alt-trans><note>A note</note></trans-unit></group>
</body></file></xliff>"""
    path = f"templates/{template.pk}/translations"
    answer = call.post(path, {"format": "xliff", "text": text, "save": True}).json()
    assert answer["refused"] == []
    template.refresh_from_db()
    assert template.locales["de"] == {"body": "Ausverkauf in {{ city }}"}


def test_another_projects_template_is_not_there(template: Template) -> None:
    other = Caller(make_project(name="Museum"))
    assert other.get(f"templates/{template.pk}/texts.csv").status_code == 404
    assert other.get(f"templates/{template.pk}/texts.xliff").status_code == 404
    body = {"format": "csv", "text": HEAD}
    assert other.post(f"templates/{template.pk}/translations", body).status_code == 404


def test_texts_that_fcm_would_not_take_together_are_not_saved(
    call: Caller, template: Template
) -> None:
    text = HEAD + f"body,,,{{{{ city }}}}{'가' * 1_400}\r\n"
    path = f"templates/{template.pk}/translations"
    for save in (False, True):
        answer = call.post(path, {"format": "csv", "text": text, "save": save})
        assert answer.status_code == 400
        assert "ko" in answer.content.decode()
    template.refresh_from_db()
    assert template.locales == SAYS["locales"]
