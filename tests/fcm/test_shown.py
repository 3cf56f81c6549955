"""How much of a text each platform shows."""

from __future__ import annotations

import pytest

from notifications.fcm.visible_length import ROOMS, parted


def test_a_text_is_parted_where_the_platform_cuts_it() -> None:
    body = "a" * 45 + "b" * 195 + "c" * 10
    cut = parted("android", "body", body)
    assert (cut.at_once, cut.opened, cut.never) == ("a" * 45, "b" * 195, "c" * 10)
    assert (cut.places, cut.whole) == (250, False)


@pytest.mark.parametrize("platform", [*ROOMS])
@pytest.mark.parametrize("name", ["title", "body"])
def test_what_just_fits_is_whole_and_one_letter_more_is_cut(platform: str, name: str) -> None:
    room = ROOMS[platform][name]
    fits = parted(platform, name, "a" * room.closed)
    assert fits.whole and not fits.opened and not fits.never
    assert not parted(platform, name, "a" * (room.closed + 1)).whole
    assert parted(platform, name, "a" * (room.opened + 1)).never == "a"


def test_a_wide_letter_takes_two_places() -> None:
    title = "가" * 23
    cut = parted("android", "title", title)
    assert (cut.places, cut.at_once) == (46, "가" * 22)


@pytest.mark.parametrize(
    ("letter", "places"),
    [
        ("e\u0301", 1),  # an accent of its own
        ("👍🏽", 2),
        ("👩‍👩‍👧", 2),
        ("\u1100\u1161\u11a8", 2),  # 각, written in parts
    ],
)
def test_what_is_one_letter_to_the_eye_is_counted_once_and_never_split(
    letter: str, places: int
) -> None:
    cut = parted("android", "title", "a" * 44 + letter + "z")
    assert cut.places == 45 + places
    assert cut.at_once in ("a" * 44, "a" * 44 + letter)
