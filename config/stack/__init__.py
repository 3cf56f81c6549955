"""`make run`: starts embedded servers and every process of the product, and ends them cleanly.

Imports no Django, so that it can explain what is missing before anything else fails.
"""

from __future__ import annotations

from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]


class StackError(Exception):
    """An error that the person at the keyboard can fix; shown as it is, without a traceback."""
