"""Image: a picture that was uploaded for a project's messages.

Its name is a hash of its bytes, so it never changes and caches may keep it forever. Nobody can
guess the name of a picture they have not seen. The bytes are in Django's storage “images”: a disk,
or a bucket. If the process dies here: the bytes may exist without a row; the next upload of the
same picture writes them again.
"""

from __future__ import annotations

import logging
from hashlib import sha256

from django.core.exceptions import ValidationError
from django.core.files.base import ContentFile, File
from django.core.files.storage import Storage, storages
from django.db import models, transaction
from django.db.models import Sum
from django.utils.translation import gettext as _

from notifications.images import headers
from notifications.images.address import address_of
from notifications.images.headers import Header
from notifications.people.project import OfProject, Project

log = logging.getLogger(__name__)

MOST_BYTES = 1_000_000  # Android shows nothing larger
MIN_SIDE, MAX_SIDE = 16, 4_096  # pixels; a phone has to decode it
MAX_OF_A_PROJECT = 1_000
MAX_BYTES_OF_A_PROJECT = 250_000_000
LETTERS_OF_A_NAME = 40  # of 64: the address counts in a push's 4,096 bytes, on iOS twice
KINDS = {"png": "image/png", "jpg": "image/jpeg", "webp": "image/webp"}


class Image(OfProject):
    """An uploaded picture, and where phones find it."""

    name = models.CharField(max_length=60, unique=True, editable=False)
    title = models.CharField(max_length=100)  # the name of its file
    width = models.PositiveIntegerField(editable=False)
    height = models.PositiveIntegerField(editable=False)
    size = models.PositiveIntegerField(editable=False)
    by = models.CharField(max_length=200, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["project", "-id"], name="images_of_project")]

    def __str__(self) -> str:
        return self.title

    @property
    def address(self) -> str:
        return address_of(self.name)


def storage() -> Storage:
    return storages["images"]


def keep(project: Project, file: File[bytes], *, by: str) -> Image:
    """Check and store an uploaded file, and create its row. The same picture again returns the
    existing row. Raises ValidationError that says what to do."""
    content = _content(file)
    header = _checked_header(content)
    digest = sha256(f"{project.pk}:".encode() + content).hexdigest()[:LETTERS_OF_A_NAME]
    name = f"{digest}.{header.kind}"
    if stored := Image.objects.filter(name=name).first():
        return stored
    _check_room(project, len(content))
    _store(name, content)  # outside the transaction: a bucket may be slow, and locks would wait
    with transaction.atomic():
        # The lock makes two uploads at once count one after the other.
        Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        if stored := Image.objects.filter(name=name).first():
            return stored
        _check_room(project, len(content))
        image = Image.objects.create(
            project=project,
            name=name,
            title=_title(file.name or "", name),
            width=header.width,
            height=header.height,
            size=len(content),
            by=by,
        )
    _store(name, content)  # again: the same picture may have just been deleted
    return image


def remove(image: Image) -> None:
    """Delete the row, and its bytes after the commit: without the row nobody finds them."""
    name = image.name
    image.delete()
    transaction.on_commit(lambda: _forget(name))


def _content(file: File[bytes]) -> bytes:
    """Read the file. A file that is too large is refused before it is read."""
    if not file.size:
        raise ValidationError(_("The file is empty."))
    if file.size > MOST_BYTES:
        text = _("The image has %(size)s KB; Android shows at most %(most)s KB. Save it smaller.")
        values = {"size": f"{-(-file.size // 1_000):,}", "most": f"{MOST_BYTES // 1_000:,}"}
        raise ValidationError(text % values)
    content: bytes = file.read(MOST_BYTES + 1)
    return content


def _checked_header(content: bytes) -> Header:
    header = headers.parse_header(content)
    if header is None:
        raise ValidationError(_("This is no PNG, JPEG or WebP image. Save it as one of those."))
    if header.kind not in KINDS:
        raise ValidationError(_("Android shows no GIFs. Save it as PNG, JPEG or WebP."))
    if not header.whole:
        raise ValidationError(_("The image ends in the middle. Save or copy it again."))
    least, most = sorted((header.width, header.height))
    if least < MIN_SIDE or most > MAX_SIDE:
        text = _(
            "The image has %(width)s × %(height)s pixels; each side must have %(least)s to "
            "%(most)s. Phones show it best at about 1,024 × 512."
        )
        values = {"width": f"{header.width:,}", "height": f"{header.height:,}"}
        raise ValidationError(text % {**values, "least": MIN_SIDE, "most": f"{MAX_SIDE:,}"})
    return header


def _check_room(project: Project, size: int) -> None:
    images = Image.objects.filter(project=project)
    if images.count() >= MAX_OF_A_PROJECT:
        text = _("This project has %(most)s images already. Delete some that are not used.")
        raise ValidationError(text % {"most": f"{MAX_OF_A_PROJECT:,}"})
    if (images.aggregate(sum=Sum("size"))["sum"] or 0) + size > MAX_BYTES_OF_A_PROJECT:
        text = _("The images of this project would have over %(most)s MB. Delete some first.")
        raise ValidationError(text % {"most": f"{MAX_BYTES_OF_A_PROJECT // 1_000_000:,}"})


def _store(name: str, content: bytes) -> None:
    images = storage()
    try:
        # A shorter file is left from a process that died while it wrote.
        if not images.exists(name) or images.size(name) != len(content):
            images.save(name, ContentFile(content, name))
    except Exception as error:  # a full disk, a bucket that is down: errors differ by storage
        log.exception("image=%s could not be stored", name)
        text = _("The image could not be stored. An engineer finds the cause in the server's log.")
        raise ValidationError(text) from error


def _forget(name: str) -> None:
    if Image.objects.filter(name=name).exists():  # uploaded again meanwhile
        return
    try:
        storage().delete(name)
    except Exception:  # the row is gone, and a file without a row does no harm
        log.exception("image=%s could not be removed from the storage", name)


def _title(file_name: str, name: str) -> str:
    """Return the name of the file, in characters that a page can show."""
    letters = "".join(letter for letter in file_name if letter.isprintable()).strip()
    return letters[-100:] or name
