"""Cells for whoever opens a file in a spreadsheet: none of them is a formula there."""

from __future__ import annotations

import re

# Where a spreadsheet may find a formula: it skips what is blank before the sign, takes full-width
# signs too, and begins a cell at each semicolon where that separates. An apostrophe before it
# makes it a text; one that stood there gets another, so that each cell can be read back.
FORMULA = re.compile(r"(^|;)(?=[\s']*[=+@＝＋－＠-])|^(?='*[\t\r\n])")
NEUTRAL = re.compile(r"(^|;)'(?=[\s']*[=+@＝＋－＠-])|^'(?='*[\t\r\n])")
# A first line for spreadsheets, which says what stands between cells: it is no header.
NAMES_DELIMITER = re.compile(
    r"\"?sep=(?P<delimiter>[^\w\s\"]|\t)\"?(?P=delimiter)*(?:\r\n|\n|\r)", re.IGNORECASE
)


def neutral(text: str) -> str:
    return FORMULA.sub(r"\1'", text)


def read_back(text: str) -> str:
    """What `neutral` made a text of."""
    return NEUTRAL.sub(r"\1", text)
