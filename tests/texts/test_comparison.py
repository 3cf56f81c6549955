"""Comparing two texts of a template, and bringing two people's changes together."""

from __future__ import annotations

from typing import Any

from campaigns.texts.comparison import Change, changes, merge


def content(**values: Any) -> dict[str, Any]:
    empty: dict[str, Any] = {"name": "N", "title": "T", "body": "B", "image": "", "link": ""}
    return {**empty, "data": {}, "options": {}, "locales": {}, **values}


def test_a_change_names_the_very_place() -> None:
    before = content(locales={"ko": {"title": "a", "data": {"x": "1"}}}, options={"ios": {}})
    after = content(locales={"ko": {"title": "a", "data": {"x": "2"}}})
    assert changes(before, after) == [
        Change(("options", "ios"), {}, None),
        Change(("locales", "ko", "data", "x"), "1", "2"),
    ]
    assert changes(after, after) == []


def test_words_that_stay_are_told_from_those_that_go_and_come() -> None:
    [change] = changes(content(body="Hi {{ name }}, come!"), content(body="Hi {{ name }}, run!"))
    assert [(piece.kind, piece.text) for piece in change.pieces] == [
        ("same", "Hi {{ name }}, "), ("gone", "come"), ("new", "run"), ("same", "!"),
    ]  # fmt: skip


def test_changes_in_different_places_come_together() -> None:
    base = content(locales={"ko": {"title": "1"}, "de": {"title": "1"}})
    mine = content(locales={"ko": {"title": "2"}, "de": {"title": "1"}}, title="mine")
    theirs = content(locales={"ko": {"title": "1"}, "ja": {"title": "3"}}, data={"a": "b"})
    merged = merge(base, mine, theirs)
    assert merged.content == content(
        locales={"ko": {"title": "2"}, "ja": {"title": "3"}}, title="mine", data={"a": "b"}
    )
    assert merged.disputed == []
    assert {change.path for change in merged.taken} == {
        ("locales", "ja", "title"), ("locales", "de", "title"), ("data", "a"),
    }  # fmt: skip


def test_where_both_wrote_mine_stays_and_theirs_is_told() -> None:
    merged = merge(content(), content(title="mine"), content(title="theirs", body="theirs"))
    assert merged.content == content(title="mine", body="theirs")
    assert merged.disputed == [Change(("title",), "mine", "theirs")]


def test_a_language_one_removed_and_the_other_wrote_in_is_disputed() -> None:
    base = content(locales={"ko": {"title": "1", "body": "1"}})
    theirs = content(locales={"ko": {"title": "1", "body": "2"}})
    merged = merge(base, content(), theirs)
    assert merged.content == content()
    assert merged.disputed == [Change(("locales", "ko", "body"), None, "2")]


def test_of_a_field_that_could_not_be_read_nothing_is_decided() -> None:
    mine = content(title="mine")
    del mine["locales"]
    merged = merge(content(), mine, content(locales={"ko": {"title": "x"}}))
    assert "locales" not in merged.content and merged.taken == [] and merged.disputed == []


def test_a_long_text_is_compared_quickly_enough_to_wait_for() -> None:
    [change] = changes(content(body="a " * 2_000), content(body="b " * 2_000))
    assert "".join(piece.text for piece in change.pieces if piece.kind == "new") == "b " * 2_000
