"""A file arrives in parts: in any order, each as often as it takes, and never half."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import connection
from django.utils import timezone

from notifications import imports
from notifications.people.importing import upload as upload_room
from notifications.people.importing.model import Import, ImportPart
from notifications.people.project import Project
from tests.given.builders import make_project
from tests.given.importing import BY, check, mapped, merge, upload

CONTENT = b"id,city\nu1,Seoul\nu2,Busan\n"


@pytest.fixture
def shop(db: None) -> Project:
    return make_project()


def begun(project: Project) -> Import:
    return imports.begin(project, name="p.csv", size=len(CONTENT), by=BY)


def test_parts_may_come_in_any_order_and_twice(shop: Project) -> None:
    one = begun(shop)
    imports.add_part(one, 1, CONTENT[10:])
    imports.add_part(one, 0, CONTENT[:10])
    imports.add_part(one, 1, CONTENT[10:])
    assert list(imports.parts_there(one)) == [0, 1]
    imports.complete(one)
    assert (one.state, one.sniffed["head"]) == ("ready", ["id", "city"])
    assert merge(mapped(one)).counts["created"] == 2


def test_another_content_under_the_same_number_is_refused(shop: Project) -> None:
    one = begun(shop)
    imports.add_part(one, 0, CONTENT[:10])
    with pytest.raises(ValidationError, match="different content"):
        imports.add_part(one, 0, CONTENT[:9])
    assert bytes(ImportPart.objects.get().content) == CONTENT[:10]


@pytest.mark.parametrize(
    ("number", "content", "said"),
    [
        (-1, b"x", "numbered from 0"),
        (20_000, b"x", "numbered from 0"),
        (0, b"", "empty"),
        (0, b"x" * (8 * 1024**2 + 1), "at most 8,388,608 bytes"),
        (0, CONTENT + b"x", "More bytes arrived than the 26"),
    ],
)
def test_an_impossible_part_is_refused(
    shop: Project, number: int, content: bytes, said: str
) -> None:
    with pytest.raises(ValidationError, match=said):
        imports.add_part(begun(shop), number, content)
    assert not ImportPart.objects.exists()


@pytest.mark.parametrize(
    ("name", "size", "said"),
    [
        ("p.xlsx", 10, "is not one of .csv"),
        ("p.csv", 0, "empty"),
        ("p.csv", 3 * 1024**3, "3,072 MB; at most 2,048 MB"),
        ("p.csv", 2 * 1024**3 + 1, "2,049 MB; at most 2,048 MB"),
        (f"{'p' * 252}.csv", 10, "at most 255 characters"),
        ("p\n.csv", 10, "invisible characters"),
        ("p\u202evsc.csv", 10, "invisible characters"),
        ("p\u2066.csv", 10, "invisible characters"),
    ],
)
def test_a_file_is_refused_before_a_byte_arrives(
    shop: Project, name: str, size: int, said: str
) -> None:
    with pytest.raises(ValidationError, match=said):
        imports.begin(shop, name=name, size=size, by=BY)
    assert not Import.objects.exists()


def test_one_person_has_few_uploads_open_and_is_told_which(shop: Project) -> None:
    for number in range(upload_room.MAX_OPEN):
        imports.begin(shop, name=f"p{number}.csv", size=9, by=BY)
    with pytest.raises(ValidationError, match=r"5 uploads are not finished.*p0\.csv"):
        imports.begin(shop, name="more.csv", size=9, by=BY)
    imports.begin(shop, name="other.csv", size=9, by="user:bob")
    assert Import.objects.count() == upload_room.MAX_OPEN + 1
    imports.discard(Import.objects.get(name="p0.csv"), by=BY)
    imports.begin(shop, name="more.csv", size=9, by=BY)


def test_a_project_holds_files_up_to_a_sum_of_declared_bytes(shop: Project) -> None:
    each = upload_room.MOST_BYTES
    for number in range(upload_room.MAX_HELD // each):
        imports.begin(shop, name="p.csv", size=each, by=f"user:{number}")
    with pytest.raises(ValidationError, match=r"16,384 MB are held.*p\.csv"):
        imports.begin(shop, name="more.csv", size=1, by=BY)
    Import.objects.update(state=Import.State.FINISHED)
    assert imports.begin(shop, name="more.csv", size=1, by=BY).pk
    assert imports.begin(make_project(), name="more.csv", size=each, by=BY).pk


@pytest.mark.django_db(transaction=True)
def test_two_uploads_that_begin_at_once_are_counted_one_after_the_other() -> None:
    project, both = make_project(), threading.Barrier(2)
    for number in range(upload_room.MAX_OPEN - 1):
        imports.begin(project, name=f"p{number}.csv", size=9, by=BY)

    def begin(_: int) -> bool:
        try:
            both.wait(10)
            imports.begin(project, name="more.csv", size=9, by=BY)
        except ValidationError:
            return False
        finally:
            connection.close()
        return True

    with ThreadPoolExecutor(2) as threads:
        assert sorted(threads.map(begin, range(2))) == [False, True]
    assert Import.objects.count() == upload_room.MAX_OPEN


@pytest.mark.parametrize(
    ("number", "size", "said"),
    [
        (3, 6, "The file has 3 parts"),
        (0, 9, "Part 0 has 10 bytes, and 9 came"),
        (2, 5, "Part 2 has 6 bytes, and 5 came"),
    ],
)
def test_a_part_that_does_not_fit_its_place_is_refused(
    shop: Project, number: int, size: int, said: str
) -> None:
    one = imports.begin(shop, name="p.csv", size=len(CONTENT), by=BY)
    upload_room.remember(one, modified=7, part_bytes=10)
    with pytest.raises(ValidationError, match=said):
        imports.add_part(one, number, b"x" * size)
    assert not ImportPart.objects.exists()
    for place, at in enumerate(range(0, len(CONTENT), 10)):
        imports.add_part(one, place, CONTENT[at : at + 10])
    imports.complete(one)
    assert one.state == Import.State.READY


def test_a_file_is_not_looked_at_while_a_part_is_missing(shop: Project) -> None:
    one = begun(shop)
    imports.add_part(one, 1, CONTENT[10:])
    with pytest.raises(ValidationError, match="Send the others"):
        imports.complete(one)
    assert one.state == Import.State.UPLOADING


def test_no_part_is_added_once_the_file_is_complete(shop: Project) -> None:
    one = upload(shop, CONTENT)
    with pytest.raises(Import.InvalidMove):
        imports.add_part(one, 1, b"u3,Oslo\n")


def test_the_bytes_of_an_abandoned_upload_are_forgotten(shop: Project) -> None:
    one = begun(shop)
    imports.add_part(one, 0, CONTENT[:10])
    long_ago, fresh = timezone.now(), begun(shop)
    assert imports.forget_abandoned(before=long_ago) == 1
    one.refresh_from_db()
    fresh.refresh_from_db()
    assert (one.state, fresh.state) == ("failed", "uploading")
    assert not ImportPart.objects.exists()


def test_an_old_import_that_somebody_touched_lately_is_not_abandoned(shop: Project) -> None:
    stopped, checked = mapped(upload(shop, CONTENT)), mapped(upload(shop, CONTENT))
    long_ago = timezone.now()
    check(checked)
    imports.start(stopped, by=BY, now=timezone.now())
    imports.stop(stopped, by=BY, now=timezone.now())
    assert imports.forget_abandoned(before=long_ago) == 0
    stopped.refresh_from_db()
    assert (stopped.state, stopped.problem) == ("stopped", "")
    assert stopped.parts.exists()


def test_an_unfinished_import_does_not_keep_others_from_being_removed(
    shop: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    goes_on, left = begun(shop), begun(shop)
    move = Import.move

    def somebody_was_faster(one: Import, states: tuple[str, ...], **values: Any) -> None:
        if one.pk == goes_on.pk:
            Import.objects.filter(pk=one.pk).update(state="merging")
        move(one, states, **values)

    monkeypatch.setattr(Import, "move", somebody_was_faster)
    monkeypatch.setattr(Import._meta, "ordering", ["id"])
    assert imports.forget_abandoned(before=timezone.now()) == 1
    left.refresh_from_db()
    goes_on.refresh_from_db()
    assert (goes_on.state, left.state) == ("uploading", "failed")


def test_a_mapping_is_remembered_for_the_next_file_with_the_same_head(shop: Project) -> None:
    merge(mapped(upload(shop, CONTENT), city="ignore"))
    again = upload(shop, CONTENT.replace(b"Seoul", b"Ulsan"))
    assert [column["meaning"] for column in again.mapping] == ["external_id", "ignore"]
    other = upload(make_project(), CONTENT)
    assert other.mapping[1]["meaning"] == "attribute"


def test_a_mapping_is_remembered_whatever_the_order_of_the_columns(shop: Project) -> None:
    points = {"meaning": "attribute", "name": "score", "type": "text"}
    merge(mapped(upload(shop, "id,points,city,city\nu1,5,a,b\n"), points=points, city="ignore"))
    again = upload(shop, "city,id,city,points\na,u1,b,5\n")
    found = [(one["head"], one["meaning"], one["name"]) for one in again.mapping]
    assert found == [
        ("city", "ignore", ""), ("id", "external_id", ""), ("city", "ignore", ""),
        ("points", "attribute", "score"),
    ]  # fmt: skip
    assert upload(shop, "id,points\nu1,5\n").mapping[1]["name"] == "points"


def test_a_mapping_that_was_checked_is_remembered_though_nobody_was_imported(
    shop: Project,
) -> None:
    merge(mapped(upload(shop, CONTENT)))
    check(mapped(upload(shop, CONTENT), city="ignore"))
    assert upload(shop, CONTENT).mapping[1]["meaning"] == "ignore"
    mapped(upload(shop, CONTENT), city={"meaning": "attribute", "name": "town"})
    assert upload(shop, CONTENT).mapping[1]["meaning"] == "ignore"


def test_a_new_mapping_after_a_check_begins_the_reading_anew(shop: Project) -> None:
    one = check(mapped(upload(shop, CONTENT)))
    assert one.foreseen["created"] == 2
    mapped(one, city="ignore")
    assert (one.state, one.rows, one.foreseen) == ("ready", 0, {})
    merge(one)
    assert one.counts["created"] == 2
    assert not list(
        one.project.contact_set.exclude(attributes={}).values_list("external_id", flat=True)
    )
