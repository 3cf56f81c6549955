"""The pages after the upload: each step, who may go it, and the list that comes of it."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from django.urls import reverse

from campaigns.audiences.audience import Audience, Member
from campaigns.audiences.lists import filling
from notifications import imports
from notifications.people.contact import Contact
from notifications.people.importing import staging
from notifications.people.importing.model import Import
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from notifications.staff.team import Role
from tests.admin.desk import Desk, messages_of, text_of
from tests.admin.people.import_steps import (
    FILE,
    checked,
    finished,
    mapped,
    post,
    uploaded,
    work,
)
from tests.given.builders import make_contact
from tests.given.importing import upload
from tests.roles.people import logged_in

pytestmark = pytest.mark.django_db


# --- Step 2 --------------------------------------------------------------------------------------


def test_the_columns_are_shown_with_what_was_guessed(desk: Desk, project: Project) -> None:
    one = uploaded(desk, project)
    reply = desk.client.get(reverse("admin:notifications_import_change", args=[one.pk]))
    text, html = text_of(reply), reply.content.decode()
    assert "Detected: UTF-8" in text and "Cells between commas. 3 columns" in text
    assert "Nowhere" in text and 'value="first_name"' in html
    assert '<option value="external_id" selected>' in html


def test_numbers_and_dates_in_another_format_are_pointed_out_beside_their_column(
    desk: Desk, project: Project
) -> None:
    one = uploaded(
        desk, project, b"id;spent;day;city\nu1;1.234,00;01.03.2026;Bonn\nu2;5,50;31.12.2025;Ulm\n"
    )
    text = desk.open("notifications_import_change", one.pk)
    assert "Looks like numbers written 1.234,00: it is kept as text." in text
    assert "Looks like days written 01.03.2026: it is kept as text." in text
    assert text.count("is kept as text") == 2


def test_a_comma_in_a_number_is_shown_as_it_is_read(desk: Desk, project: Project) -> None:
    one = uploaded(desk, project, b'id,spent\nu1,5\nu2,"160,000"\n')
    text = desk.open("notifications_import_change", one.pk)
    assert "“160,000” is read as 160000." in text


def test_a_cell_that_its_column_cannot_read_is_shown_before_it_is_refused(
    desk: Desk, project: Project
) -> None:
    one = uploaded(desk, project, b"id,spent\nu1,5\nu2,6\nu3,7\nu4,much\n")
    text = desk.open("notifications_import_change", one.pk)
    assert (
        "“much” is not a number; write it like 1200 or 12.5. Its row will be refused. If such "
        "cells are right, read the column as Text." in text
    )


def test_an_error_stands_beside_its_column_and_nothing_is_checked(
    desk: Desk, project: Project
) -> None:
    one = uploaded(desk, project)
    sent = mapped(one, **{"name-1": "first name"})
    reply = post(desk.client, "import_columns", one.pk, **sent)
    html = reply.content.decode()
    assert 'id="error-1"' in html and 'id="error-2"' not in html
    assert 'value="first name"' in html, "what was typed is still there"
    one.refresh_from_db()
    assert one.state == Import.State.READY


def test_another_encoding_shows_the_first_rows_in_it_and_keeps_what_was_set(
    desk: Desk, project: Project
) -> None:
    one = uploaded(desk, project, "id,이름,city\nu1,김민준,서울\n".encode("cp949"))
    text = desk.open("notifications_import_change", one.pk)
    assert "Detected: Korean (CP949, EUC-KR)" in text and "김민준" in text
    sent = mapped(one, **{"name-2": "town", "mode": "replace"})

    html = post(desk.client, "import_encoding", one.pk, **sent, encoding="cp1252").content.decode()
    assert '<option value="cp1252" selected>' in html
    assert "±è¹ÎÁØ" in html and "김민준" not in html
    assert 'value="town"' in html and 'value="replace" checked' in html

    html = post(desk.client, "import_encoding", one.pk, **sent, encoding="").content.decode()
    assert '<option value="" selected>Detected: Korean' in html and "김민준" in html
    one.refresh_from_db()
    assert one.state == Import.State.READY and not one.rows


def test_an_encoding_that_does_not_fit_says_so_and_changes_nothing(
    desk: Desk, project: Project
) -> None:
    one = uploaded(desk, project)
    for encoding, said in (("utf-16-le", "no rows"), ("rot13", "Use one of utf-8, ")):
        reply = post(desk.client, "import_encoding", one.pk, **mapped(one), encoding=encoding)
        assert reply.status_code == 200 and said in text_of(reply)
    assert one.sniffed == Import.objects.get().sniffed
    post(desk.client, "import_columns", one.pk, **mapped(one))
    reply = post(desk.client, "import_encoding", one.pk, **mapped(one), encoding="cp949")
    assert reply["HX-Redirect"], "it is being checked"


def test_a_mapping_without_an_external_id_says_so_above_the_form(
    desk: Desk, project: Project
) -> None:
    one = uploaded(desk, project)
    reply = post(desk.client, "import_columns", one.pk, **mapped(one, **{"meaning-0": "ignore"}))
    assert "Choose the column with the external id" in text_of(reply)


def test_columns_can_be_changed_after_the_check(desk: Desk, project: Project) -> None:
    one = checked(desk, project)
    assert one.refused == 1
    assert "What each column means" in desk.open("notifications_import_change", one.pk, columns="")
    post(desk.client, "import_columns", one.pk, **mapped(one, **{"meaning-2": "ignore"}))
    work(one)
    assert (one.refused, one.foreseen["created"]) == (0, 3)


def test_the_next_file_with_the_same_head_is_mapped_like_the_last(
    desk: Desk, project: Project
) -> None:
    first = uploaded(desk, project)
    assert "column settings are used again" not in desk.open(
        "notifications_import_change", first.pk
    )
    post(desk.client, "import_columns", first.pk, **mapped(first, **{"name-1": "given"}))
    work(first)
    desk.confirm("notifications_import_start", first.pk)

    second = uploaded(desk, project, modified=8)
    assert second.mapping[1]["name"] == "given"
    assert "column settings are used again" in desk.open("notifications_import_change", second.pk)


# --- Steps 3 and 4 -------------------------------------------------------------------------------


def test_the_check_says_what_would_be_done_and_changes_nothing(
    desk: Desk, project: Project
) -> None:
    make_contact(
        project,
        external_id="u1",
        attributes={"first_name": "Ada"},
        timezone="Asia/Seoul",
        locale="",
    )
    one = checked(desk, project)
    text = desk.open("notifications_import_change", one.pk)
    assert "Checked. Nothing was changed yet." in text
    assert "Created 1" in text and "Unchanged 1" in text and "Rows refused 1" in text
    assert "3 timezone" in text, "line and column of the refused row"
    assert Contact.objects.count() == 1


def test_a_page_asks_for_itself_only_while_a_worker_is_at_it(desk: Desk, project: Project) -> None:
    one = uploaded(desk, project)
    post(desk.client, "import_columns", one.pk, **mapped(one))
    live = reverse("admin:import_live", args=[one.pk])
    assert b"every 1s" in desk.client.get(live).content
    work(one)
    assert b"every 1s" not in desk.client.get(live, {"mark": "reading-1-1-1"}).content


@pytest.mark.parametrize("mark", ["", "nonsense", "reading-9-9-9", "reading-1-0-0", "x" * 500])
def test_a_nonsense_progress_in_an_address_is_ignored(
    desk: Desk, project: Project, mark: str
) -> None:
    one = uploaded(desk, project)
    post(desk.client, "import_columns", one.pk, **mapped(one))
    assert "Reading the file" in desk.open("import_live", one.pk, mark=mark)


def test_an_import_counts_what_it_did_and_stays_to_be_read(desk: Desk, project: Project) -> None:
    one = finished(desk, project)
    text = desk.open("notifications_import_change", one.pk)
    assert "Created 2" in text and "by ada" in text and "ended" in text
    assert set(Contact.objects.values_list("external_id", flat=True)) == {"u1", "u3"}
    listed = desk.open("notifications_import_changelist")
    assert "people.csv" in listed and "2 created" in listed


def test_refused_rows_are_downloaded_corrected_and_imported(desk: Desk, project: Project) -> None:
    one = finished(desk, project)
    reply: Any = desk.client.get(reverse("admin:import_refused", args=[one.pk]))
    content = b"".join(reply.streaming_content)
    rows = list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"))))
    assert [row["id"] for row in rows] == ["u2"]
    assert "Nowhere" in str(rows[0].values())

    again = finished(desk, project, content.replace(b"Nowhere", b"Asia/Tokyo"))
    assert again.counts["created"] == 1
    assert Contact.objects.get(external_id="u2").timezone == "Asia/Tokyo"


def test_a_viewer_cannot_download_refused_rows(desk: Desk, project: Project) -> None:
    one = finished(desk, project)
    viewer = Desk(logged_in(Role.VIEWER))
    page = viewer.open("notifications_import_change", one.pk)
    assert "Refused rows" in page and "Download" not in page
    assert viewer.client.get(reverse("admin:import_refused", args=[one.pk])).status_code == 403
    assert "Download" in desk.open("notifications_import_change", one.pk)


def test_refused_rows_are_listed_in_the_order_of_the_file(desk: Desk, project: Project) -> None:
    rows = b"id,timezone,locale\nu1,UTC,Korean\nu2,Nowhere,en\nu3,UTC\nu4,UTC,Korean\n"
    one = checked(desk, project, rows)
    lines = list(one.refusals.order_by("pk").values_list("line", flat=True))
    assert lines == [2, 3, 4, 5]


def test_the_page_says_how_many_refused_rows_are_not_kept(
    desk: Desk, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(staging, "MAX_REFUSED", 2)
    one = finished(desk, project, FILE + b"u4,Di,Nowhere\nu5,Ed,Nowhere\n")
    shown = desk.open("notifications_import_change", one.pk)
    assert "1 further row was refused; only the first 2 are kept." in shown
    assert "Download all 2 refused rows" in shown


def test_refused_rows_are_summed_up_by_column_and_reason(desk: Desk, project: Project) -> None:
    bad = b"".join(b"u%d,Nowhere%d\n" % (n, n) for n in range(12))
    one = checked(desk, project, b"id,timezone\n" + bad + b"x\ny\n")
    text = desk.open("notifications_import_change", one.pk)
    assert "12 timezone “Nowhere0”" in text
    assert text.index("12 timezone") < text.index("2 timezone “Nowhere0”", text.index("Line"))
    assert "2 –" in text, "rows that are too short"


def test_the_check_says_which_row_of_a_person_counts(desk: Desk, project: Project) -> None:
    one = checked(desk, project, b"id,city\nu1,Seoul\nu1,Busan\n")
    text = desk.open("notifications_import_change", one.pk)
    assert "the last row counts, and the devices of all rows are added" in text
    one = checked(desk, project, b"id,city\nu1,Seoul\n")
    assert "the last row counts" not in desk.open("notifications_import_change", one.pk)


def test_removing_people_asks_for_their_number(desk: Desk, project: Project) -> None:
    for name in ("u1", "u3"):
        make_contact(project, external_id=name)
    one = checked(desk, project, mode="remove")
    assert "2 people are removed" in desk.open("notifications_import_start", one.pk)
    refused = desk.confirm("notifications_import_start", one.pk, number="3")
    assert "Type 2 to import." in text_of(refused)
    one.refresh_from_db()
    assert one.state == Import.State.CHECKED

    desk.confirm("notifications_import_start", one.pk, number="2")
    work(one)
    assert not Contact.objects.exists()


def test_a_stopped_check_leads_back_to_the_columns(desk: Desk, project: Project) -> None:
    one = uploaded(desk, project)
    post(desk.client, "import_columns", one.pk, **mapped(one))
    desk.confirm("notifications_import_stop", one.pk)
    reply = desk.client.get(reverse("admin:import_live", args=[one.pk]))
    assert reply["HX-Redirect"] == reverse("admin:notifications_import_change", args=[one.pk])
    assert "What each column means" in desk.open("notifications_import_change", one.pk)


def test_a_stopped_import_goes_on_when_it_is_continued(desk: Desk, project: Project) -> None:
    one = checked(desk, project)
    desk.confirm("notifications_import_start", one.pk)
    desk.confirm("notifications_import_stop", one.pk)
    assert "It was stopped." in desk.open("notifications_import_change", one.pk)
    assert not Contact.objects.exists()
    desk.confirm("notifications_import_resume", one.pk)
    work(one)
    assert Contact.objects.count() == 2


def test_an_import_that_has_started_is_not_started_again(desk: Desk, project: Project) -> None:
    one = finished(desk, project)
    reply = desk.confirm("notifications_import_start", one.pk)
    assert "HX-Redirect" not in reply
    assert Contact.objects.count() == 2


def test_an_import_that_changed_people_is_not_deleted(desk: Desk, project: Project) -> None:
    one = finished(desk, project)
    assert post(desk.client, "notifications_import_delete", one.pk, post="yes").status_code == 403
    other = uploaded(desk, project, modified=8)
    post(desk.client, "notifications_import_delete", other.pk, post="yes")
    assert list(Import.objects.all()) == [one]
    assert AuditEntry.objects.filter(action="deleted", subject_id=other.pk).count() == 1


# --- A list of these -----------------------------------------------------------------------------


def test_a_list_is_made_of_the_people_of_an_import(desk: Desk, project: Project) -> None:
    make_contact(project, external_id="u9")
    one = finished(desk, project)
    part = desk.open("import_list", one.pk)
    assert "The 2 people of this file become a static list" in part
    reply = desk.post("import_list", one.pk, name="Spring", settled_project=project.pk)
    made = Audience.objects.get()
    assert reply["HX-Redirect"] == reverse("admin:campaigns_audience_change", args=[made.pk])
    members = Member.objects.values_list("contact__external_id", flat=True)
    assert set(members) == {"u1", "u3"}
    entry = AuditEntry.objects.get(subject_kind="audience")
    assert (entry.action, entry.detail) == ("created", {"from_import": one.pk})


def test_a_task_fills_what_a_web_request_has_no_time_for(
    desk: Desk, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filling, "AT_ONCE_SECONDS", 0)
    monkeypatch.setattr(filling, "BATCHES_AT_ONCE", 1)
    one = finished(desk, project)
    reply = desk.post("import_list", one.pk, name="Spring", settled_project=project.pk)
    assert messages_of(reply) == ["“Spring” is being filled with 2 people."]
    made = Audience.objects.get()
    assert made.filling is not None

    while filling.work(made.pk, seconds=9):
        pass
    made.refresh_from_db()
    assert made.filling is None and made.members.count() == 2


def test_a_list_needs_a_name_of_its_own(desk: Desk, project: Project) -> None:
    one = finished(desk, project)
    Audience.objects.create(project=project, name="Spring")
    reply = desk.post("import_list", one.pk, name="Spring")
    assert "There is an audience of this name already." in text_of(reply)
    assert Audience.objects.count() == 1


# --- Who may -------------------------------------------------------------------------------------


def test_a_viewer_reads_a_result_and_is_offered_nothing(desk: Desk, project: Project) -> None:
    one = finished(desk, project)
    ready = uploaded(desk, project, modified=8)
    viewer = logged_in(Role.VIEWER)
    for row in (one, ready):
        html = viewer.get(reverse("admin:notifications_import_change", args=[row.pk])).content
        for verb in (b"Check the file", b"Import another", b"import-list", b"Delete"):
            assert verb not in html
    assert viewer.get(reverse("admin:notifications_import_add")).status_code == 403
    assert post(viewer, "import_begin", name="a.csv", size=1).status_code == 403


# --- The ways here -------------------------------------------------------------------------------


def test_the_import_is_found_from_everywhere_one_would_look(desk: Desk, project: Project) -> None:
    add = reverse("admin:notifications_import_add")
    for page in ("index", "notifications_contact_changelist", "notifications_import_changelist"):
        assert add in desk.client.get(reverse(f"admin:{page}")).content.decode(), page
    found = desk.open("search", s="import")
    assert "Import" in found.partition("Pages")[2]


UNREAD = {"mode": "add", "meaning-0": "external_id", "encoding": "utf-8", "columns": "id"}


@pytest.mark.parametrize("page", ["import_columns", "import_encoding", "import_finish"])
def test_a_file_that_is_not_read_yet_has_no_columns_to_set(
    desk: Desk, project: Project, page: str
) -> None:
    one = imports.begin(project, name="p.csv", size=9, by="user:ada")
    reply = desk.post(page, one.pk, **UNREAD)
    assert reply.status_code < 500
    if page != "import_finish":
        shown = desk.client.get(reverse("admin:notifications_import_change", args=[one.pk]))
        assert "The import is uploading: that cannot be done now." in text_of(shown)
    one.refresh_from_db()
    assert (one.state, one.mapping) == (Import.State.UPLOADING, [])


@pytest.mark.parametrize("page", ["import_columns", "import_encoding"])
def test_a_file_that_could_not_be_read_has_none_either(
    desk: Desk, project: Project, page: str
) -> None:
    one = upload(project, b"x", name="p.zip")
    assert one.state == Import.State.FAILED
    assert desk.post(page, one.pk, **UNREAD).status_code < 500
