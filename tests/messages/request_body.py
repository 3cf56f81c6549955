"""What a program posts for a message to one person."""

from __future__ import annotations

from typing import Any


def body(number: int, **more: Any) -> dict[str, Any]:
    content = {"title": "Hello", "body": f"Number {number}"}
    return {"to": {"contact": f"p{number}"}, "content": content, **more}
