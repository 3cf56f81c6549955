"""What documents link to or name is there: files, headings, pictures."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PLACES = ("*.md", "docs/**/*.md", "bench/*.md", "emulator/*.md")
PAGES = sorted(page for place in PLACES for page in ROOT.glob(place))
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
NAMED = re.compile(
    r"`((?:bench|campaigns|config|docs|emulator|notifications|static|templates|tests)/[\w./…-]*)`"
)
HEADING = re.compile(r"^#{1,6} +(.+?) *$", re.MULTILINE)
IMAGES = ROOT / "docs" / "images"


def anchors(page: Path) -> set[str]:
    """As GitHub makes them of headings."""
    headings = HEADING.findall(CODE.sub("", page.read_text()))
    plain = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading) for heading in headings)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in plain}


def broken(page: Path) -> list[str]:
    links = LINK.findall(CODE.sub("", page.read_text()))
    return [link for link in links if "://" not in link and not leads_somewhere(page, link)]


def leads_somewhere(page: Path, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    return target.exists() and (not anchor or anchor in anchors(target))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    assert broken(page) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_file_that_is_named_exists(page: Path) -> None:
    names = NAMED.findall(page.read_text())
    assert [name for name in names if not any(ROOT.glob(name.replace("…", "*")))] == []


def test_every_picture_is_shown_and_small() -> None:
    text = "".join(page.read_text() for page in PAGES)
    pictures = sorted(IMAGES.iterdir())
    assert pictures
    assert [one.name for one in pictures if f"images/{one.name})" not in text] == []
    assert [one.name for one in pictures if one.stat().st_size > 150_000] == []
