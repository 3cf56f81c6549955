"""No row of a file is lost, however it is written: each is staged or refused with its line."""

from __future__ import annotations

import csv
import io
import struct
import zipfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from notifications import imports
from notifications.people.contact import Contact
from notifications.people.device import Device
from notifications.people.importing import import_worker
from notifications.people.importing.model import Import
from notifications.people.importing.reading import decoded, encoded_length, fitting, parse
from notifications.people.project import Project
from tests.given.builders import make_project
from tests.given.importing import bring_in, mapped, merge, reasons, upload
from tests.importing.packing import packed


@pytest.fixture
def shop(db: None) -> Project:
    return make_project()


def attributes(project: Project) -> dict[str, object]:
    return {each.external_id: each.attributes for each in Contact.objects.filter(project=project)}


@pytest.mark.parametrize(
    ("encoding", "mark", "found"),
    [
        ("utf-8", b"", "utf-8"),
        ("utf-8", b"\xef\xbb\xbf", "utf-8"),
        ("utf-16-le", b"\xff\xfe", "utf-16-le"),
        ("utf-16-be", b"\xfe\xff", "utf-16-be"),
        ("utf-16-le", b"", "utf-16-le"),
        ("cp1252", b"", "cp1252"),
    ],
)
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_encoding_and_delimiter_are_found(
    shop: Project, encoding: str, mark: bytes, found: str, delimiter: str
) -> None:
    text = "id,name\r\nu1,Zoë\r\nu2,Ñandú\r\n".replace(",", delimiter)
    one = upload(shop, mark + text.encode(encoding))
    (file,) = one.sniffed["files"]
    assert (file["encoding"], file["delimiter"], one.sniffed["head"]) == (
        found, delimiter, ["id", "name"],
    )  # fmt: skip
    merge(mapped(one))
    assert attributes(shop) == {"u1": {"name": "Zoë"}, "u2": {"name": "Ñandú"}}


def test_a_wrong_byte_in_the_middle_refuses_its_row_alone(shop: Project) -> None:
    rows = b"".join(f"u{n},서울\n".encode() for n in range(50))
    one = bring_in(shop, b"id,city\n" + rows + b"bad,Z\xfcrich\n" + b"last,Oslo\n")
    assert (one.rows, one.refused, one.counts["created"]) == (52, 1, 51)
    assert reasons(one)[52][0] == "city" and "UTF-8" in reasons(one)[52][1]
    assert one.refusals.get().cells == ["bad", "Zürich"]


def test_rows_that_do_not_match_the_header_are_refused_with_their_lines(shop: Project) -> None:
    one = bring_in(shop, "id,city\nu1\nu2,Seoul,more\n\nu3,Busan,,\nu4,\x00Oslo\nu5,Ulsan\n")
    assert attributes(shop) == {"u3": {"city": "Busan"}, "u5": {"city": "Ulsan"}}
    found = reasons(one)
    assert set(found) == {2, 3, 6}
    assert "1 cells; the header has 2" in found[2][1] and "NUL" in found[6][1]
    assert one.rows == 5


def test_a_line_of_ten_megabytes_is_refused_and_the_next_are_read(shop: Project) -> None:
    long = "x" * (10 * 1024**2)
    one = bring_in(shop, f"id,city\nu1,Seoul\nu2,{long}\nu3,Busan\n")
    assert set(attributes(shop)) == {"u1", "u3"}
    assert set(reasons(one)) == {3} and "longer" in reasons(one)[3][1]
    assert (one.rows, one.refused) == (3, 1)


@pytest.mark.parametrize(
    ("encoding", "size"), [("utf-8", 10_000_000), ("utf-8", 300_000), ("utf-16", 300_000)]
)
def test_a_row_behind_a_first_one_that_is_too_long_is_imported(
    shop: Project, encoding: str, size: int
) -> None:
    text = f"external_id,points\nl1,{'x' * size}\nl2,7\n"
    one = bring_in(shop, text.encode(encoding))
    assert set(attributes(shop)) == {"l2"}
    assert set(reasons(one)) == {2} and "longer" in reasons(one)[2][1]


def test_rows_after_a_long_first_row_are_shown_and_their_types_guessed(shop: Project) -> None:
    one = upload(shop, f"external_id,points\nl1,{'x' * 10_000_000}\nl2,7\nl3,8\n")
    assert one.sniffed["rows"] == [["l2", "7"], ["l3", "8"]]
    assert one.mapping[1]["type"] == "number"


def test_a_quote_that_is_never_closed_costs_its_line_alone(shop: Project) -> None:
    one = bring_in(shop, 'id,city\nu1,"Seoul\nu2,Busan\nu3,"a\nb"\nu4,x\n')
    assert attributes(shop) == {
        "u2": {"city": "Busan"}, "u3": {"city": "a\nb"}, "u4": {"city": "x"},
    }  # fmt: skip
    assert set(reasons(one)) == {2}


def test_formulas_are_kept_as_text(shop: Project) -> None:
    bring_in(shop, "id,note\nu1,=HYPERLINK(1)\nu2,@SUM(A1)\n")
    assert attributes(shop)["u1"] == {"note": "=HYPERLINK(1)"}


def test_a_row_with_several_problems_names_them_all(shop: Project) -> None:
    head = "id,token,platform,locale,time_zone,points,vip\n"
    good = "u0,tok,ios,ko,UTC,1,yes\n"
    text = head + good + "u1,to ken,windows,?,Mars/X,ten,perhaps\nu2,tok2,,,,,\n"
    number = {"meaning": "attribute", "name": "points", "type": "number"}
    vip = {"meaning": "attribute", "name": "vip", "type": "boolean"}
    one = bring_in(shop, text, points=number, vip=vip)
    column, reason = reasons(one)[3]
    assert column == "token, platform, locale, time_zone, points, vip"
    assert "Mars/X" in reason and "“ten” is not a number" in reason
    assert reasons(one)[4] == ("platform", "The address needs its platform: android, ios or web.")


UNUSABLE = {
    "the head alone": ("id,city\n", "has a header but no rows"),
    "blank lines": ("\n\n \n", "The file is empty"),
    "no head": ("1042,Seoul\n1043,Busan\n", "The first line contains data (“1042”)"),
    "1,000 columns": (",".join(f"c{n}" for n in range(1_000)) + "\n1\n", "1,000 columns; at most"),
    "a head without an end": ('"' + "x" * 300_000, "The first line is too long"),
}


@pytest.mark.parametrize("case", UNUSABLE)
def test_an_unusable_file_fails_and_says_why(shop: Project, case: str) -> None:
    text, problem = UNUSABLE[case]
    one = upload(shop, text)
    assert one.state == Import.State.FAILED
    assert problem in one.problem
    assert not one.parts.exists()


def directory_of(entries: int, *, said: int = 0) -> bytes:
    """An archive whose directory lists one file so many times, and says how many."""
    whole = packed(("a" * 100 + ".csv", b"id\nu1\n"))
    start, end = whole.index(b"PK\x01\x02"), whole.index(b"PK\x05\x06")
    directory = whole[start:end] * entries
    count = said or entries
    return (
        whole[:start]
        + directory
        + whole[end : end + 8]
        + struct.pack("<HHII", count, count, len(directory), start)
        + whole[end + 20 :]
    )


def test_an_archive_of_tables_is_read_as_one(shop: Project) -> None:
    content = packed(
        ("a.csv", b"id,city\nu1,Seoul\n"), ("__MACOSX/a.csv", b"junk"),
        ("b.tsv", b"id\tcity\nu2\tBusan\n\tx"),
    )  # fmt: skip
    one = bring_in(shop, content, name="people.zip")
    assert set(attributes(shop)) == {"u1", "u2"}
    refusal = one.refusals.get()
    assert (refusal.file, refusal.line) == ("b.tsv", 3)


def encrypted() -> bytes:
    content = bytearray(packed(("a.csv", b"id\nu1\n")))
    content[6] |= 1
    at = content.rindex(b"PK\x01\x02")
    content[at + 8] |= 1
    return bytes(content)


BOMBS = {
    "a bomb": (packed(("a.csv", b"id\n" + b"\0" * 5_000_000)), "zip bomb"),
    "too many files": (packed(*((f"{n}.csv", b"id\n1\n") for n in range(101))), "101 files"),
    "an archive in it": (packed(("a.zip", b"x")), "archive inside the archive"),
    "a picture in it": (packed(("a.jpg", b"x")), "a.jpg"),
    "nothing in it": (packed(), "is not an archive"),
    "a password": (encrypted(), "password"),
    "another packing": (packed(("a.csv", b"id\nu1\n"), method=zipfile.ZIP_LZMA), "Use deflate"),
    "two heads": (packed(("a.csv", b"id\nu1\n"), ("b.csv", b"id,x\nu1,1\n")), "a different header"),
    "is not an archive": (b"id\nu1\n", "is not an archive"),
    "a long directory": (directory_of(6_000), "directory of the archive has"),
    "a directory that says it is short": (directory_of(6_000, said=1), "directory of the archive"),
    "half an archive": (packed(("a.csv", b"id\n" + b"u1\n" * 99))[:80], "cannot be opened"),
}


@pytest.mark.parametrize("case", BOMBS)
def test_a_harmful_or_damaged_archive_is_refused_by_name(shop: Project, case: str) -> None:
    content, problem = BOMBS[case]
    one = upload(shop, content, name="people.zip")
    assert one.state == Import.State.FAILED
    assert problem in one.problem


def test_reading_an_archive_continues_where_it_stopped(
    shop: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each slice of the work takes one small piece, and opens the archive anew."""
    monkeypatch.setattr(import_worker, "BYTES_AT_ONCE", 100)
    rows = "".join(f"u{n},Zoë {n}\n" for n in range(60))
    one = upload(shop, packed(("a.csv", f"id,name\n{rows}".encode())), name="p.zip")
    mapped(one)
    imports.start(one, by="user:ada", now=one.created_at)
    for _ in range(100):
        if not imports.work(one.pk, seconds=0.0001):
            break
    one.refresh_from_db()
    assert (one.state, one.rows, one.counts["created"]) == ("finished", 60, 60)
    assert attributes(shop)["u59"] == {"name": "Zoë 59"}


# --- Whatever comes -------------------------------------------------------------------------------

LINES = st.lists(
    st.text(alphabet=st.sampled_from('ab",;\n\r\t é서😀\x00\x1f='), max_size=12), max_size=30
).map("\n".join)


@given(text=LINES, piece=st.integers(1, 40), encoding=st.sampled_from(["utf-8", "utf-16-le"]))
@settings(max_examples=400)
def test_pieces_of_any_size_give_the_same_rows(text: str, piece: int, encoding: str) -> None:
    content = text.encode(encoding)
    whole = parse(text, delimiter=",", width=2, line=1, whole=True)
    rows, refused, rest, line = [], [], b"", 1
    for at in range(0, max(len(content), 1), piece):
        rest += content[at : at + piece]
        last = at + piece >= len(content)
        read = decoded(rest, encoding, whole=last)
        block = parse(read, delimiter=",", width=2, line=line, whole=last)
        rows += block.rows
        refused += block.refused
        line += block.lines
        rest = rest[encoded_length(read[: block.used], encoding) :]
    assert rest == b""
    assert (rows, refused) == (whole.rows, whole.refused)


@given(rows=st.lists(st.tuples(*[st.text(max_size=8)] * 2), max_size=20))
def test_a_file_of_a_csv_writer_is_read_back_unchanged(rows: list[tuple[str, str]]) -> None:
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL).writerows(rows)
    block = parse(out.getvalue(), delimiter=",", width=2, line=1, whole=True)
    assert [tuple(cells) for _, cells in fitting(block, 2)] == [row for row in rows if any(row)]
    assert not block.refused


@given(content=st.binary(max_size=300), name=st.sampled_from(["p.csv", "p.tsv", "p.zip"]))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_are_read_or_refused_with_a_reason(
    shop: Project, content: bytes, name: str
) -> None:
    one = upload(shop, b"id,x\n" * (name != "p.zip") + content + b"\n", name=name)
    if one.state == Import.State.FAILED:
        assert one.problem
        return
    if one.sniffed["head"] != ["id", "x"]:
        return
    merge(mapped(one))
    assert one.state == Import.State.FINISHED
    assert one.refusals.count() == one.refused
    assert one.rows == one.refused + one.people + one.duplicates


NOISE = bytes((n * 7919 + n // 3 * 104_729) % 256 for n in range(20_000)).replace(b"\x00", b"\x01")
PROSE = (
    b"It was a bright cold day in April, and the clocks were striking.\n"
    b"He went up the stairs slowly, resting several times on the way, and said nothing at all.\n"
    b"Nobody on the whole street had seen him come or go that day.\n"
)


@pytest.mark.django_db
@pytest.mark.parametrize("content", [NOISE, PROSE, PROSE.replace(b",", b"")])
def test_a_file_that_is_not_a_table_is_refused_before_its_columns_are_shown(content: bytes) -> None:
    said = upload(make_project(), content).problem
    assert "This is not a table of people" in said


@pytest.mark.django_db
@pytest.mark.parametrize(
    "content", ["id\nu1\nu2\n", "member\nA 1\nB 2\n", "id,note\nu1,a b c d e f\n"]
)
def test_a_list_of_ids_is_a_table(content: str) -> None:
    assert upload(make_project(), content).sniffed["rows"]


# --- Values as spreadsheets write them ------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "cell", "value"),
    [
        ("number", "160,000", 160_000),
        ("number", "-1,234,567.50", -1_234_567.5),
        ("number", " 12,000 ", 12_000),
        ("time", "2026.11.01", "2026-11-01"),
        ("time", "2026/11/1", "2026-11-01"),
        ("time", "2026-1-31", "2026-01-31"),
        ("time", "2026. 11. 1.", "2026-11-01"),
        ("time", "2026. 11. 1. 15:05", "2026-11-01T15:05:00+00:00"),
        ("time", "2026-11-01 오후 3:05:07", "2026-11-01T15:05:07+00:00"),
        ("time", "2026. 11. 1 오전 12:00:00", "2026-11-01T00:00:00+00:00"),
        ("time", "2026/11/01 9:05", "2026-11-01T09:05:00+00:00"),
        ("time", "2026-11-01T09:00:00+09:00", "2026-11-01T09:00:00+09:00"),
    ],
)
def test_a_cell_as_a_spreadsheet_writes_it_is_read(
    shop: Project, kind: str, cell: str, value: object
) -> None:
    one = upload(shop, f'id,x\nu1,"{cell}"\nu2,"{cell}"\n')
    assert one.mapping[1]["type"] == kind
    merge(mapped(one))
    assert attributes(shop) == {"u1": {"x": value}, "u2": {"x": value}}


@pytest.mark.parametrize(
    ("kind", "cell"),
    [
        ("number", "1,2"), ("number", "1,23,456"), ("number", "12,0000"), ("number", "0,123"),
        ("number", "1.234,00"), ("number", ",123"),
        ("time", "2026-W01-1"), ("time", "2026W011"), ("time", "11/01/2026"),
        ("time", "01.11.2026"), ("time", "2026.13.01"), ("time", "2026.02.30"),
        ("time", "2026.11/01"), ("time", "2026-11-01 오후 13:00:00"), ("time", "20261101"),
        ("time", "２０２６-11-01"), ("time", "2026-11-01 25:00"),
    ],
)  # fmt: skip
def test_a_cell_that_may_mean_two_things_or_none_is_refused(
    shop: Project, kind: str, cell: str
) -> None:
    column = {"meaning": "attribute", "name": "x", "type": kind}
    one = bring_in(shop, f'id,x\nu1,"{cell}"\n', x=column)
    assert reasons(one)[2][0] == "x" and cell in reasons(one)[2][1]
    assert attributes(shop) == {}


def test_times_of_answers_and_devices_are_read_as_a_spreadsheet_writes_them(shop: Project) -> None:
    one = bring_in(
        shop,
        "id,subscribed,subscribed_at,token,platform,last_seen\n"
        "u1,no,2026. 1. 5. 오전 9:00:00,tok,ios,2026/01/06\n",
    )
    assert one.refused == 0
    assert f"{Device.objects.get().last_seen_at:%F}" == "2026-01-06"


def test_spaces_around_an_id_an_address_or_a_head_are_no_part_of_them(shop: Project) -> None:
    text = " id ,token,platform\n u1 ,tok1 , ios\n\u3000u1\u00a0,tok2,ios\n   ,tok3,ios\n"
    one = bring_in(shop, text)
    assert set(attributes(shop)) == {"u1"}
    assert set(Device.objects.values_list("address", flat=True)) == {"tok1", "tok2"}
    assert (one.duplicates, set(reasons(one))) == (1, {4})
    merge(mapped(upload(shop, "id\n u1\n"), mode="remove"))
    assert attributes(shop) == {}


# --- A first line that names the delimiter --------------------------------------------------------


@pytest.mark.parametrize("first", ["sep=;", '"sep=;"', "SEP=;", "sep=;;;"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_a_first_line_that_names_the_delimiter_is_not_the_header(
    shop: Project, first: str, encoding: str
) -> None:
    text = f"{first}\r\nid;name\r\nu1;Zoë, Ada\r\nu2\r\nu3;Ñandú\r\n"
    one = bring_in(shop, text.encode(encoding))
    assert (one.sniffed["head"], one.sniffed["files"][0]["delimiter"]) == (["id", "name"], ";")
    assert attributes(shop) == {"u1": {"name": "Zoë, Ada"}, "u3": {"name": "Ñandú"}}
    assert set(reasons(one)) == {4}


def test_a_delimiter_that_only_its_first_line_names_is_used(shop: Project) -> None:
    bring_in(shop, "sep=^\nid^city\nu1^Seoul\n")
    assert attributes(shop) == {"u1": {"city": "Seoul"}}
    assert upload(shop, "sep=;\n").problem == "The file is empty."
