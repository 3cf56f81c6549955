"""An image is judged by its bytes, kept under a name made of them, and put into a text."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.files.storage import storages
from django.urls import reverse

from campaigns.runs.revisions.revision import RunRevision
from campaigns.texts.template import Template
from notifications.images import image as images
from notifications.images.image import Image
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from notifications.staff.team import Role
from tests.admin.desk import Desk, text_of
from tests.given.builders import make_project, make_run, make_template
from tests.images.pictures import GIF, jpeg, png, upload, webp
from tests.roles.people import logged_in

pytestmark = pytest.mark.django_db
ADDRESS = re.compile(r"https://push\.example\.com/i/[0-9a-f]{40}\.png")


def sent(desk: Desk, project: Project, content: bytes, name: str = "sale.png") -> Any:
    """As the dialog's script sends it."""
    return desk.client.post(
        reverse("admin:notifications_image_add"),
        {"file": upload(content, name), "settled_project": project.pk},
        headers={"Accept": "application/json"},
    )


@pytest.mark.parametrize(
    ("content", "kind"),
    [(png(), "png"), (jpeg(), "jpg"), (webp("VP8 "), "webp"), (webp("VP8L"), "webp"),
     (webp("VP8X"), "webp")],
    ids=["png", "jpeg", "webp", "webp-lossless", "webp-extended"],
)  # fmt: skip
def test_png_jpeg_and_webp_are_taken_with_their_dimensions(
    desk: Desk, project: Project, folder: Path, content: bytes, kind: str
) -> None:
    reply = sent(desk, project, content)
    made = Image.objects.get()
    assert reply.json() == {"address": made.address, "title": "sale.png"}
    assert (made.width, made.height, made.size) == (64, 32, len(content))
    assert made.name.endswith(f".{kind}") and (folder / made.name).read_bytes() == content
    assert AuditEntry.objects.filter(action="created", subject_kind="image").count() == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "empty"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'><script>1</script></svg>", "no PNG, JPEG"),
        (b"<!doctype html><script>alert(1)</script>", "no PNG, JPEG"),
        (GIF, "Android shows no GIFs"),
        (png()[:40], "ends in the middle"),
        (png()[:18], "no PNG, JPEG"),
        (jpeg()[:-2], "ends in the middle"),
        (b"\xff\xd8\xff" + b"\xff" * 5_000, "no PNG, JPEG"),
        (png(8, 200), "8 × 200 pixels"),
        (png(30_000, 30_000), "30,000 × 30,000 pixels"),
        (png(more=b"x" * 1_000_000), "The image has 1,001 KB; Android shows at most 1,000 KB"),
    ],
    ids=["empty", "svg", "html", "gif", "cut-png", "cut-head", "cut-jpeg", "padding", "thin",
         "bomb", "large"],
)  # fmt: skip
def test_anything_else_is_refused_with_what_to_do_and_nothing_is_kept(
    desk: Desk, project: Project, folder: Path, content: bytes, said: str
) -> None:
    reply = sent(desk, project, content)
    assert reply.status_code == 400 and said in reply.json()["error"]
    assert not Image.objects.exists() and not folder.exists()


def test_the_same_image_is_kept_once_and_another_projects_has_a_name_of_its_own(
    desk: Desk, project: Project, folder: Path
) -> None:
    first, again = sent(desk, project, png()).json(), sent(desk, project, png(), "b.png").json()
    assert first["address"] == again["address"] and ADDRESS.fullmatch(first["address"])
    other = images.keep(make_project(), upload(png()), by="user:alice")
    assert other.address != first["address"]
    assert len(list(folder.iterdir())) == Image.objects.count() == 2


def test_bytes_that_were_half_written_are_written_again(
    desk: Desk, project: Project, folder: Path
) -> None:
    sent(desk, project, png())
    made = Image.objects.get()
    (folder / made.name).write_bytes(png()[:10])
    made.delete()
    sent(desk, project, png())
    assert (folder / made.name).read_bytes() == png()


def test_a_project_has_bounds(
    desk: Desk, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(images, "MAX_OF_A_PROJECT", 1)
    assert sent(desk, project, png()).status_code == 200
    assert "has 1 images already" in sent(desk, project, png(65)).json()["error"]
    monkeypatch.setattr(images, "MAX_OF_A_PROJECT", 9)
    monkeypatch.setattr(images, "MAX_BYTES_OF_A_PROJECT", len(png()) + 1)
    assert "Delete some first" in sent(desk, project, png(65)).json()["error"]
    assert Image.objects.count() == 1


def test_a_storage_that_is_away_is_said_and_leaves_no_row(
    desk: Desk, project: Project, folder: Path
) -> None:
    folder.write_text("no folder")
    said = sent(desk, project, png()).json()["error"]
    assert "could not be stored" in said and not Image.objects.exists()


def test_any_storage_of_djangos_will_do(
    desk: Desk, project: Project, settings: LazySettings
) -> None:
    memory = {"BACKEND": "django.core.files.storage.InMemoryStorage"}
    settings.STORAGES = {**settings.STORAGES, "images": memory}
    sent(desk, project, png())
    name = Image.objects.get().name
    with storages["images"].open(name) as file:
        assert file.read() == png()
    assert desk.client.get(f"/i/{name}").content == png()
    Image.objects.all().delete()
    assert desk.client.get(f"/i/{name}").status_code == 404


def test_without_an_address_for_phones_nothing_is_taken(
    desk: Desk, project: Project, settings: LazySettings
) -> None:
    settings.IMAGES_URL = ""
    assert "sets PUBLIC_URL" in sent(desk, project, png()).json()["error"]
    assert not Image.objects.exists()


# --- Who may --------------------------------------------------------------------------------------


def test_who_only_looks_uploads_nothing_and_nobody_does_for_another_project(
    desk: Desk, project: Project
) -> None:
    viewer = Desk(logged_in(Role.VIEWER))
    assert sent(viewer, project, png()).status_code == 403
    other = make_project()
    assert sent(desk, other, png()).status_code in (400, 409)
    assert not Image.objects.exists()


def test_the_dialog_offers_the_projects_own_the_newest_first_in_parts(
    desk: Desk, project: Project
) -> None:
    for width in range(100, 126):
        images.keep(project, upload(png(width), f"w{width}.png"), by="user:alice")
    images.keep(make_project(), upload(png(99), "theirs.png"), by="user:alice")
    url = reverse("admin:images_offered")
    first = desk.client.get(url, {"project": project.pk}).content.decode()
    assert first.index("w125.png") < first.index("w102.png") and "w101.png" not in first
    before = re.search(r"before=(\d+)", first)
    assert before is not None
    older = desk.client.get(url, {"project": project.pk, "before": before[1]}).content.decode()
    assert "w101.png" in older and "w102.png" not in older and "Older images" not in older
    assert "theirs.png" not in first + older


# --- In a text ------------------------------------------------------------------------------------


def test_an_uploaded_image_needs_no_allowed_host_and_is_shown_from_here(
    desk: Desk, project: Project
) -> None:
    address = sent(desk, project, png()).json()["address"]
    form = {"name": "T", "title": "Hi", "body": "B", "image": address, "project": project.pk}
    reply = desk.post("template_preview", **form).content.decode()
    name = address.rpartition("/")[2]
    assert f'src="/i/{name}"' in reply and "are not shown here" not in reply
    desk.save("campaigns_template_add", **form)
    assert Template.objects.get().image == address


def test_another_address_that_begins_as_ours_is_not_ours(desk: Desk, project: Project) -> None:
    elsewhere = "https://push.example.com/i/../../evil.png"
    reply = desk.post("template_preview", title="Hi", body="B", image=elsewhere, project=project.pk)
    assert "are not shown here" in reply.content.decode()


# --- Deleting -------------------------------------------------------------------------------------


def deleted(desk: Desk, image: Image) -> str:
    return text_of(
        desk.client.post(
            reverse("admin:notifications_image_delete", args=[image.pk]),
            {"post": "yes"},
            follow=True,
        )
    )


@pytest.mark.django_db(transaction=True)
def test_an_image_that_nothing_uses_is_deleted_with_its_bytes(
    desk: Desk, project: Project, folder: Path
) -> None:
    made = images.keep(project, upload(png()), by="user:alice")
    deleted(desk, made)
    assert not Image.objects.exists() and not list(folder.iterdir())


@pytest.mark.parametrize(
    "where",
    [
        lambda address: {"image": address},
        lambda address: {"locales": {"ko": {"image": address}}},
        lambda address: {"options": {"web": {"icon": address}}},
        lambda address: {"data": {"picture": address}},
    ],
    ids=["image", "language", "icon", "data"],
)
def test_an_image_a_template_names_anywhere_is_kept(
    desk: Desk, project: Project, folder: Path, where: Any
) -> None:
    made = images.keep(project, upload(png()), by="user:alice")
    make_template(project, name="Spring", **where(made.address))
    assert "It is used by the template “Spring”." in deleted(desk, made)
    assert Image.objects.exists() and (folder / made.name).exists()


def test_an_image_outlives_a_text_that_a_run_said_later(desk: Desk, project: Project) -> None:
    made = images.keep(project, upload(png()), by="user:alice")
    run = make_run(project, advanced=False)
    content = {**run.content, "image": made.address}
    RunRevision.objects.create(run=run, number=2, content=content, by="user:alice")
    assert f"It is used by run {run.pk}." in deleted(desk, made)


def test_an_image_outlives_the_run_that_froze_its_address(desk: Desk, project: Project) -> None:
    made = images.keep(project, upload(png()), by="user:alice")
    run = make_run(project, template={"title": "Hi", "image": made.address}, advanced=False)
    Template.objects.update(image="")
    assert f"It is used by run {run.pk}." in deleted(desk, made)
    assert Image.objects.exists()
