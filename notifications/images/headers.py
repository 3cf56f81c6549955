"""Image headers: read the kind and the size of an image from its bytes, without decoding it.

So a picture that would take a gigabyte of memory costs us nothing, and its dimensions tell us not
to send it to phones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

PNG, GIF = b"\x89PNG\r\n\x1a\n", (b"GIF87a", b"GIF89a")
PNG_END, JPEG_END = b"IEND\xaeB`\x82", b"\xff\xd9"
MAX_SEGMENTS = 1_000  # of a JPEG, before its dimensions
# JPEG markers that begin a picture; the three that are left out hold tables.
FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
WITHOUT_LENGTH = frozenset((0x01, *range(0xD0, 0xD9)))


@dataclass(frozen=True, slots=True)
class Header:
    """The format of an image. `kind`: png, jpg, webp or gif. `whole`: its end is not cut off."""

    kind: str
    width: int
    height: int
    whole: bool


def parse_header(content: bytes) -> Header | None:
    """Parse the header of an image. None: it is none of the four kinds."""
    try:
        return next((found for look in LOOKS if (found := look(content)) is not None), None)
    except (IndexError, ValueError):  # it ends inside its header
        return None


def _png(content: bytes) -> Header | None:
    if not content.startswith(PNG) or content[12:16] != b"IHDR":
        return None
    return Header("png", _big(content, 16, 4), _big(content, 20, 4), PNG_END in content)


def _gif(content: bytes) -> Header | None:
    if not content.startswith(GIF):
        return None
    return Header("gif", _little(content, 6, 2), _little(content, 8, 2), True)


def _jpeg(content: bytes) -> Header | None:
    """Read the segments of a JPEG until the one that begins the picture."""
    if not content.startswith(b"\xff\xd8\xff"):
        return None
    at = 2
    for _ in range(MAX_SEGMENTS):
        if content[at] != 0xFF:
            return None
        marker = content[at + 1]
        if marker == 0xFF:  # padding
            at += 1
        elif marker in FRAMES:
            height, width = _big(content, at + 5, 2), _big(content, at + 7, 2)
            return Header("jpg", width, height, JPEG_END in content[at:])
        elif marker in WITHOUT_LENGTH:
            at += 2
        else:
            at += 2 + max(2, _big(content, at + 2, 2))
    return None


def _webp(content: bytes) -> Header | None:
    if content[:4] != b"RIFF" or content[8:12] != b"WEBP":
        return None
    whole = len(content) >= 8 + _little(content, 4, 4)
    form = content[12:16]
    if form == b"VP8X":
        return Header("webp", 1 + _little(content, 24, 3), 1 + _little(content, 27, 3), whole)
    if form == b"VP8L" and content[20] == 0x2F:
        bits = _little(content, 21, 4)
        return Header("webp", 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF), whole)
    if form == b"VP8 " and content[23:26] == b"\x9d\x01\x2a":
        width, height = _little(content, 26, 2), _little(content, 28, 2)
        return Header("webp", width & 0x3FFF, height & 0x3FFF, whole)
    return None


def _big(content: bytes, at: int, size: int) -> int:
    return int.from_bytes(_part(content, at, size), "big")


def _little(content: bytes, at: int, size: int) -> int:
    return int.from_bytes(_part(content, at, size), "little")


def _part(content: bytes, at: int, size: int) -> bytes:
    part = content[at : at + size]
    if len(part) < size:
        raise ValueError("it ends here")
    return part


LOOKS: tuple[Callable[[bytes], Header | None], ...] = (_png, _jpeg, _webp, _gif)
