"""The examples in the documents of the API."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs" / "api.md"


def shown(language: str, word: str) -> str:
    """The one example in this language that has this word."""
    text = DOCS.read_text()
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    (found,) = [block for block in blocks if word in block]
    return str(found)
