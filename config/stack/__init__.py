"""`make run`: embedded servers, every process of the product, and a clean end.

Imports no Django, so that it can explain what is missing before anything else fails.
"""

from __future__ import annotations

from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]


class StackError(Exception):
    """Something the person at the keyboard can act on; shown as it stands, without a traceback."""
