"""Deliveries: in pages by number, or streamed as a CSV that no spreadsheet runs."""

from __future__ import annotations

import csv
import io
import re
from datetime import datetime
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from campaigns.engine import engine
from campaigns.results import recipients
from campaigns.runs.ledger import Delivery
from campaigns.runs.run import Run
from notifications.people.contact import Contact
from notifications.people.project import Project
from tests.api.caller import Caller, fields_at_fault
from tests.given.builders import make_contact, make_device, make_people, make_run


def closed_run(project: Project) -> Run:
    """Everybody has a row: the run was cancelled, and numbers 1 and 2 had been sent before."""
    run = make_run(project)
    run.cancel()
    engine.advance(run.pk, now=timezone.now())
    Delivery.objects.filter(run_id=run.pk, seq=1).update(
        status="accepted", reason="", message_id="projects/p/messages/1"
    )
    Delivery.objects.filter(run_id=run.pk, seq=2).update(
        status="rejected", reason="unregistered", detail="=HYPERLINK(1)"
    )
    _add_up(run)
    return run


def _add_up(run: Run) -> None:
    """The chunk's sums move with its rows, and say where to look."""
    rows = Delivery.objects.filter(run_id=run.pk)
    names = ("accepted", "rejected", "skipped")
    reasons = [reason for reason in rows.values_list("reason", flat=True) if reason]
    run.chunks.update(
        **{name: rows.filter(status=name).count() for name in names},
        reasons={reason: reasons.count(reason) for reason in reasons},
    )


def numbers(response: Any) -> list[int]:
    return [row["seq"] for row in response.json()["results"]]


def rows_of(response: Any) -> list[dict[str, str]]:
    text = b"".join(response.streaming_content).decode()
    return list(csv.DictReader(io.StringIO(text)))


def test_each_recipient_is_shown_with_what_became_of_it(alice: Caller, ours: Project) -> None:
    contact = make_contact(ours, external_id="ada")
    make_device(contact, "secret-address", platform="ios")
    run = closed_run(ours)
    response = alice.get(f"runs/{run.pk}/deliveries")
    (row,) = response.json()["results"]
    assert (row["seq"], row["contact"], row["platform"]) == (1, "ada", "ios")
    assert (row["status"], row["reason"]) == ("accepted", "")
    assert row["message_id"] == "projects/p/messages/1"
    assert row["resent"] is False
    assert "secret-address" not in response.content.decode()


def test_pages_follow_each_other_without_gap_or_repetition(alice: Caller, ours: Project) -> None:
    make_people(ours, 5)
    run = closed_run(ours)
    seen: list[int] = []
    url = f"runs/{run.pk}/deliveries?limit=2"
    while url:
        page = alice.get(url)
        seen += numbers(page)
        url = (page.json()["next"] or "").removeprefix("http://testserver/api/v1/")
    assert seen == [1, 2, 3, 4, 5]


def test_a_page_costs_the_same_wherever_it_is(alice: Caller, ours: Project) -> None:
    make_people(ours, 20)
    run = closed_run(ours)
    with CaptureQueriesContext(connection) as captured:
        alice.get(f"runs/{run.pk}/deliveries?limit=5")
    assert sum("campaigns_delivery" in query["sql"] for query in captured) == 1
    assert not any("count(" in query["sql"].lower() for query in captured)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("status=accepted", [1]),
        ("status=skipped", [3]),
        ("reason=unregistered", [2]),
        ("status=accepted&reason=unregistered", []),
    ],
)
def test_deliveries_are_filtered(
    alice: Caller, ours: Project, query: str, expected: list[int]
) -> None:
    make_people(ours, 3)
    run = closed_run(ours)
    assert numbers(alice.get(f"runs/{run.pk}/deliveries?{query}")) == expected
    as_csv = rows_of(alice.get(f"runs/{run.pk}/deliveries.csv?{query}"))
    assert [int(row["seq"]) for row in as_csv] == expected


@pytest.mark.parametrize("query", ["status=delivered", "status=%00", "reason='--"])
@pytest.mark.parametrize("suffix", ["", ".csv"])
def test_a_filter_we_do_not_know_is_refused(
    alice: Caller, ours: Project, query: str, suffix: str
) -> None:
    response = alice.get(f"runs/{make_run(ours).pk}/deliveries{suffix}?{query}")
    assert response.status_code == 400
    assert fields_at_fault(response) == [query.partition("=")[0]]


def test_a_person_erased_since_leaves_a_row_without_a_name(alice: Caller, ours: Project) -> None:
    contact = make_contact(ours, external_id="ada")
    make_device(contact)
    run = closed_run(ours)
    Contact.objects.all().delete()
    (row,) = alice.get(f"runs/{run.pk}/deliveries").json()["results"]
    assert (row["contact"], row["platform"], row["status"]) == ("", "android", "accepted")


def test_a_run_without_a_snapshot_has_no_deliveries(alice: Caller, ours: Project) -> None:
    run = make_run(ours, advanced=False)
    assert alice.get(f"runs/{run.pk}/deliveries").json() == {"results": [], "next": None}
    assert rows_of(alice.get(f"runs/{run.pk}/deliveries.csv")) == []


def test_the_csv_is_a_file_of_everybody(
    alice: Caller, ours: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recipients, "ROWS_AT_ONCE", 2)
    make_people(ours, 5)
    run = closed_run(ours)
    response = alice.get(f"runs/{run.pk}/deliveries.csv")
    assert response["Content-Type"] == "text/csv; charset=utf-8"
    assert f'filename="run-{run.pk}-deliveries.csv"' in response["Content-Disposition"]
    rows = rows_of(response)
    assert [row["seq"] for row in rows] == ["1", "2", "3", "4", "5"]
    assert tuple(rows[0]) == recipients.COLUMNS
    assert rows[0]["resent"] == "false"
    assert datetime.fromisoformat(rows[0]["at"]).tzinfo


DEFUSED = {
    "=1+1": "'=1+1",
    "+1": "'+1",
    "-1": "'-1",
    "@SUM(A1)": "'@SUM(A1)",
    "\tx": "'\tx",
    "\rx": "'\rx",
    "\nx": "'\nx",
    "  =1": "'  =1",  # what is blank before the sign is skipped
    "\u3000=1": "'\u3000=1",
    "＝1": "'＝1",  # full-width, as a Korean keyboard may type it
    "＋1": "'＋1",
    "－1": "'－1",
    "＠x": "'＠x",
    ";=1": ";'=1",  # a spreadsheet that splits at semicolons begins a cell there
    "a; =1;b": "a;' =1;b",
    "'=1": "''=1",  # or nobody could tell it from the first
    ";'=1": ";''=1",
    "a=b-c": "a=b-c",
    "it's": "it's",
    "김;이": "김;이",
}


@pytest.mark.parametrize("name", DEFUSED)
def test_no_cell_of_the_csv_is_a_formula_and_each_can_be_read_back(
    alice: Caller, ours: Project, name: str
) -> None:
    make_device(make_contact(ours, external_id=name))
    make_people(ours, 1)
    run = closed_run(ours)
    first, second = rows_of(alice.get(f"runs/{run.pk}/deliveries.csv"))
    assert first["contact"] == DEFUSED[name]
    assert second["detail"] == "'=HYPERLINK(1)"
    as_documented = r"(^|;)'(?=[\s']*[=+@＝＋－＠-])|^'(?='*[\t\r\n])"  # in docs/api.md
    assert re.sub(as_documented, r"\1", first["contact"]) == name


def test_the_csv_leaves_as_it_is_read_and_holds_nothing_open(
    alice: Caller, ours: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cursor outside a transaction would have the whole answer worked out before its first row.

    Inside one, a reader who is slow would keep the transaction open for as long.
    """
    monkeypatch.setattr(recipients, "ROWS_AT_ONCE", 2)
    make_people(ours, 5)
    run = closed_run(ours)
    response: Any = alice.get(f"runs/{run.pk}/deliveries.csv")
    lines = iter(response.streaming_content)
    with CaptureQueriesContext(connection) as asked:
        assert next(lines).startswith(b"seq,contact")
        first = next(lines).decode()
    assert [line.partition(",")[0] for line in first.splitlines()] == ["1", "2"]
    assert len(asked) == 1 and "DECLARE" not in asked[0]["sql"]
    assert asked[0]["sql"].count("LIMIT 2") == 2, "neither the chunk nor the run is read to its end"
    rest = b"".join(lines).decode()
    assert [line.partition(",")[0] for line in rest.splitlines()] == ["3", "4", "5"]
