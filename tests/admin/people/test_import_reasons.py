"""Why a row was refused is said in the language of whoever reads it, not of whoever checked it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.urls import reverse
from django.utils import translation

from notifications.people.importing.model import Import
from notifications.people.project import Project
from tests.admin.desk import Desk
from tests.admin.people.import_steps import FILE, checked
from tests.given.importing import bring_in, check, mapped, upload

pytestmark = pytest.mark.django_db

ENGLISH = "“Nowhere” is not a time zone we know. Use a name such as Asia/Seoul or UTC."
EVERY_KIND = (
    "id,token,platform,age,when,yes,many,locale,timezone,subscribed,city\n"
    "bulk,t t,fax,ten,soon,perhaps,[1,english,Nowhere,maybe,\n"
    + "u2,t,,1,2026-01-31,true,a|b,en,UTC,true\n"
    + f"u3,t3,ios,1,2026-01-31,true,a|b,{'e' * 40},New Yrok,true,{'x' * 2_001}\n"
    + 'u4,t4,ios,1,2026-01-31,true,"[""\\u0000""]",en,UTC,true,a\x00b\n'
    + "u5,t5,ios,1" + "0" * 1_001 + ",2026-01-31,true,a|b,en,UTC,true,\n"
    + "u6,t6,,1,2026-01-31,true,a|b,en,UTC,true,\n"
    + "u7,t7,ios,1,2026-01-31,true,a|b,english,UTC,maybe,\n"
    + 'u8,"t8,ios\n'
)  # fmt: skip


def downloaded(desk: Desk, one: Import) -> str:
    reply: Any = desk.client.get(reverse("admin:import_refused", args=[one.pk]))
    return b"".join(reply.streaming_content).decode()


def test_a_colleague_reads_the_reasons_in_another_language(desk: Desk, project: Project) -> None:
    one = checked(desk, project, FILE)
    english = desk.open("notifications_import_change", one.pk)
    assert ENGLISH in english and ENGLISH in downloaded(desk, one)

    desk.client.cookies["django_language"] = "ko"
    korean = desk.open("notifications_import_change", one.pk)
    assert "not a time zone" not in korean and korean.count("“Nowhere”") == 2
    file = downloaded(desk, one)
    assert "not a time zone" not in file and "“Nowhere”" in file and "Asia/Seoul" in file


def test_a_file_checked_in_korean_is_read_in_english(desk: Desk, project: Project) -> None:
    desk.client.cookies["django_language"] = "ko"
    one = checked(desk, project, FILE)
    assert one.language == "ko"
    desk.client.cookies["django_language"] = "en"
    assert ENGLISH in desk.open("notifications_import_change", one.pk)
    assert ENGLISH in downloaded(desk, one)


@pytest.fixture
def strange(project: Project) -> Iterator[Import]:
    types = {
        "age": "number", "when": "time", "yes": "boolean", "many": "list", "city": "text",
    }  # fmt: skip
    told: dict[str, Any] = {
        name: {"meaning": "attribute", "name": name, "type": kind} for name, kind in types.items()
    }
    one = check(mapped(upload(project, EVERY_KIND), **told))
    assert one.refused == 8 and not one.staged, one.problem
    yield one


def test_no_reason_of_a_strange_file_is_left_in_english(strange: Import) -> None:
    english = [each.in_words for each in strange.refusals.order_by("pk")]
    with translation.override("ko"):
        korean = [each.in_words for each in strange.refusals.order_by("pk")]
    for before, after in zip(english, korean, strict=True):
        assert "%(" not in before and "%(" not in after
        for sentence in before.split(". "):
            assert sentence not in after
    told = " ".join(english)
    for words in (
        "contacts/bulk is an address of its own", "printable ASCII without spaces", "“fax”",
        "“ten” is not a number", "“soon” is not a time", "Use a language tag", "Did you mean",
        "Longer than 2,000 characters.", "holds a NUL character", "more than 1,000 digits",
        "The row has 10 cells; the header has 11.", "The address needs its platform",
        "A quote is not closed", "at most 35 characters",
    ):  # fmt: skip
        assert words in told


def test_a_hopeless_file_ends_in_the_language_of_whoever_began_it(project: Project) -> None:
    rows = "".join(f"u{n},Nowhere\n" for n in range(10_000))
    with translation.override("ko"):
        one = bring_in(project, f"id,timezone\n{rows}")
    assert one.state == Import.State.FAILED
    assert "“Nowhere”" in one.problem and "zone" not in one.problem and "[[" not in one.problem
