"""Spreadsheet cells: neutralizes texts that a spreadsheet would run as formulas."""

from __future__ import annotations

import re

# Where a spreadsheet may find a formula. It skips blanks before the sign, accepts full-width signs,
# and starts a cell at each semicolon if that is the separator. An apostrophe before the sign makes
# it a text. A text that already has one gets another, so that each cell can be read back.
FORMULA = re.compile(r"(^|;)(?=[\s']*[=+@＝＋－＠-])|^(?='*[\t\r\n])")
NEUTRAL = re.compile(r"(^|;)'(?=[\s']*[=+@＝＋－＠-])|^'(?='*[\t\r\n])")
# A first line that tells spreadsheets the separator between cells: it is no header.
NAMES_DELIMITER = re.compile(
    r"\"?sep=(?P<delimiter>[^\w\s\"]|\t)\"?(?P=delimiter)*(?:\r\n|\n|\r)", re.IGNORECASE
)


def neutral(text: str) -> str:
    return FORMULA.sub(r"\1'", text)


def read_back(text: str) -> str:
    """Undo `neutral`."""
    return NEUTRAL.sub(r"\1", text)
