"""The smallest images there are, made of their parts."""

from __future__ import annotations

import struct
import zlib

from django.core.files.uploadedfile import SimpleUploadedFile


def png(width: int = 64, height: int = 32, *, more: bytes = b"") -> bytes:
    def chunk(name: bytes, content: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(name + content))
        return struct.pack(">I", len(content)) + name + content + check

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    drawn = width * height < 10**6  # of a bomb the head is enough
    rows = zlib.compress((b"\0" + b"\x11\x88\x99" * width) * height) if drawn else b""
    beside = chunk(b"tEXt", more) if more else b""
    parts = (chunk(b"IHDR", head), beside, chunk(b"IDAT", rows), chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def jpeg(width: int = 64, height: int = 32) -> bytes:
    tables = b"\xff\xdb\x00\x43" + b"\0" * 65 + b"\xff\xc4\x00\x05abc"
    frame = b"\xff\xc0\x00\x11\x08" + struct.pack(">HH", height, width) + b"\x03" + b"\0" * 9
    return (
        b"\xff\xd8\xff\xe0\x00\x10JFIF\0" + b"\0" * 9 + tables + frame + b"\xff\xda\0\x02x\xff\xd9"
    )


def webp(form: str, width: int = 64, height: int = 32) -> bytes:
    if form == "VP8X":
        sizes = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
        part = b"VP8X\x0a\0\0\0" + b"\0" * 4 + sizes
    elif form == "VP8L":
        bits = (width - 1) | (height - 1) << 14
        part = b"VP8L\x05\0\0\0\x2f" + struct.pack("<I", bits)
    else:
        part = b"VP8 \x0a\0\0\0\0\0\0\x9d\x01\x2a" + struct.pack("<HH", width, height)
    return b"RIFF" + struct.pack("<I", 4 + len(part)) + b"WEBP" + part


GIF = b"GIF89a" + struct.pack("<HH", 64, 32) + b"\0" * 20 + b";"


def upload(content: bytes, name: str = "sale.png") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content, "text/html")  # what it calls itself counts nowhere
