"""Phones, browsers and a CDN fetch images without a log-in, and keep them for ever."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.conf import LazySettings
from django.test import Client

from notifications.images import image as images
from notifications.people.project import Project
from tests.images.pictures import jpeg, png, upload

pytestmark = pytest.mark.django_db


def test_anybody_fetches_it_and_every_cache_keeps_it(project: Project, stranger: Client) -> None:
    made = images.keep(project, upload(jpeg(), "a.html"), by="user:alice")
    reply = stranger.get(f"/i/{made.name}")
    assert (reply.status_code, reply.content) == (200, jpeg())
    assert reply["Content-Type"] == "image/jpeg"
    assert reply["Cache-Control"] == "public, max-age=31536000, immutable"
    assert reply["X-Content-Type-Options"] == "nosniff"
    assert reply["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert reply["Cross-Origin-Resource-Policy"] == "cross-origin"
    assert "Vary" not in reply and not reply.cookies


def test_who_has_it_already_is_told_so_without_its_bytes(
    project: Project, stranger: Client, folder: Path
) -> None:
    made = images.keep(project, upload(png()), by="user:alice")
    tag = stranger.get(f"/i/{made.name}")["ETag"]
    (folder / made.name).unlink()
    reply = stranger.get(f"/i/{made.name}", headers={"If-None-Match": tag})
    assert (reply.status_code, reply.content) == (304, b"")
    assert "immutable" in reply["Cache-Control"]


@pytest.mark.parametrize(
    "path",
    ["", "a.png", "../settings.py", "..%2f..%2fmanage.py", f"{'0' * 40}.svg", f"{'0' * 40}.png",
     f"{'0' * 40}.png/", "x" * 5_000],
)  # fmt: skip
def test_whatever_is_no_image_is_not_found(stranger: Client, path: str) -> None:
    reply = stranger.get(f"/i/{path}")
    assert reply.status_code == 404 and reply["Content-Type"].startswith("text/plain")
    assert "public" not in reply["Cache-Control"]


def test_nothing_is_sent_there(stranger: Client) -> None:
    assert stranger.post("/i/x.png").status_code == 405


def test_it_asks_neither_the_database_nor_redis(
    project: Project, stranger: Client, settings: LazySettings, django_assert_num_queries: object
) -> None:
    made = images.keep(project, upload(png()), by="user:alice")
    with django_assert_num_queries(0):  # type: ignore[operator]
        assert stranger.get(f"/i/{made.name}").status_code == 200


def test_a_storage_that_is_away_is_a_moment_without_images(
    project: Project, stranger: Client, folder: Path
) -> None:
    made = images.keep(project, upload(png()), by="user:alice")
    (folder / made.name).unlink()
    (folder / made.name).mkdir()
    reply = stranger.get(f"/i/{made.name}")
    assert (reply.status_code, reply["Retry-After"]) == (503, "5")
