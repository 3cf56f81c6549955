"""Group: a recipient's variant of the text, or the control group or holdout, who get nothing.

Groups are drawn by chance. A group is a small number in the recipient's row, the same for all
devices of a person. Variant A is the campaign's main text. Empty: the run was not split.
"""

from __future__ import annotations

from django.utils.translation import gettext as _

MAIN, CONTROL, HOLDOUT = 0, -1, -2
REST = 9  # waits for the variant that does best among those who try them: see `canary/winner.py`
LETTERS = "ABCDE"
MAX_MORE = len(LETTERS) - 1  # variants beside the main text
NAMES = {
    **dict(enumerate(LETTERS)),
    CONTROL: "control",
    HOLDOUT: "holdout",
    REST: "rest",
}  # in URLs, files and the API
NUMBERS = {name: number for number, name in NAMES.items()}


def gets_a_text(number: int) -> bool:
    return number >= MAIN


def name_of(number: int | None) -> str:
    """The name of a group; empty if the run was not split."""
    return "" if number is None else NAMES.get(number, str(number))


def in_words(number: int) -> str:
    if number == CONTROL:
        return _("Control group")
    if number == HOLDOUT:
        return _("Holdout")
    if number == REST:
        return _("The rest")
    return _("Variant %(letter)s") % {"letter": name_of(number)}
