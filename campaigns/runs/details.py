"""Details: a code and its arguments that a run's row keeps beside the cause of its state.

The sentence is made where it is shown, in the reader's language.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.utils import translation
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy

from notifications.people.device import Device
from notifications.staff.actors import key_names, who

UNREADABLE = ngettext_lazy(
    "{count:,} request of one window did not fit FCM's schema.",
    "{count:,} requests of one window did not fit FCM's schema.",
    "count",
)
FOREIGN = _("{count:,} of {answered:,} addresses are of another project.")
REFUSED = _("The first {count:,} were all refused.")
DYING = _("{dead:,} of {answered:,} addresses. No device was retired.")
RETIRED = ngettext_lazy(
    "{dead:,} of {answered:,} addresses. {retired:,} device was retired before.",
    "{dead:,} of {answered:,} addresses. {retired:,} devices were retired before.",
    "retired",
)
STORM = ngettext_lazy(
    "{copies:,} requests for {planned:,} recipient may have arrived.",
    "{copies:,} requests for {planned:,} recipients may have arrived.",
    "planned",
)
HELD = ngettext_lazy(
    "{count:,} device waits: {platforms}.", "{count:,} devices wait: {platforms}.", "count"
)
STUCK = ngettext_lazy("{count:,} chunk is left.", "{count:,} chunks are left.", "count")
LIST_GONE = _(
    "Its rules name a list that was deleted: {lists}. Cancel it and launch its campaign again."
)
RULES_BROKEN = _(
    "Its rules do not work any more: {problem} Cancel it, correct its audience and launch again."
)
TEXT_BROKEN = _(
    "Its text does not work any more: {problem} Cancel it, correct its template and launch again."
)
# Shares are passed as texts: “12.5”, “< 0.01”.
# xgettext:no-python-format
FIRST_PART = _(
    "Of {sent:,} sent to first, {rejected} % were rejected (at most {most_rejected} %), {dead} % "
    "of the addresses are dead (at most {most_dead} %), and of {able:,} that can tell, {received} "
    "% received it (at least {least_received} %)."
)
# xgettext:no-python-format
FIRST_PART_UNTOLD = _(
    "Of {sent:,} sent to first, {rejected} % were rejected (at most {most_rejected} %), and {dead} "
    "% of the addresses are dead (at most {most_dead} %)."
)
FIRST_PART_NOBODY = _("Of {devices:,} in the first part, FCM accepted none.")
NO_WINNER_SURE = _("No variant is clearly better than the others. Choose one for the rest.")
NO_WINNER_COUNTED = _("The variants could not be counted in time. Choose one for the rest.")
NO_WINNER = _(
    "Fewer than {least} people did what the variants are judged by. Choose one for the rest."
)
OPENS_UNKNOWN = _(
    "Nobody knows how many open a message of this project, so no rate keeps to “Opens a second, at "
    "most”. Set a rate, and resume."
)
LEFT_OUT = _("Left out: run {run} of this campaign was not finished yet.")
LEFT_OUT_FOR = _("Left out: run {run}, which is newer, was missed as well.")

# The closed list. A later release may write a code that is not in it: see `in_words`.
SENTENCES: dict[str, Any] = {
    "unreadable": UNREADABLE,
    "foreign": FOREIGN,
    "refused": REFUSED,
    "dying": DYING,
    "dying_retired": RETIRED,
    "storm": STORM,
    "held": HELD,
    "stuck": STUCK,
    "late": _("It was due {minutes:,} min ago."),
    "silent": _("Nothing happened for {minutes:,} min."),
    "list_gone": LIST_GONE,
    "rules_broken": RULES_BROKEN,
    "text_broken": TEXT_BROKEN,
    "opens_unknown": OPENS_UNKNOWN,
    "first_part": FIRST_PART,
    "first_part_untold": FIRST_PART_UNTOLD,
    "first_part_nobody": FIRST_PART_NOBODY,
    "no_winner": NO_WINNER,  # runs of an earlier release
    "no_winner_sure": NO_WINNER_SURE,
    "no_winner_counted": NO_WINNER_COUNTED,
    "left_out": LEFT_OUT,
    "left_out_for": LEFT_OUT_FOR,
    "left_out_by": _("Left out by {who}; the series went on."),
    "series_paused": _("Left out: its series was paused."),
    "by_hand": _("It was {who}."),
    "quoted": "{words}",  # FCM's own, or an error's
}
IN_HOURS: dict[str, Any] = {
    "late": _("It was due {hours:,} h ago."),
    "silent": _("Nothing happened for {hours:,} h."),
}
FROM_HOURS_ON = 120  # minutes
# What formatting raises if the code is not in the list or its arguments do not fit the sentence.
MISFITS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
LONGEST = 500


@dataclass(frozen=True)
class Detail:
    """A code from SENTENCES and the arguments of its sentence."""

    code: str
    args: Mapping[str, Any]


def make(code: str, **args: Any) -> Detail:
    return Detail(code, args)


def by(code: str, actor: str) -> Detail:
    """A detail about an actor. It stores the name that an API key has now, because pages that
    show details have no time to look it up."""
    keys = key_names([actor])
    return make(code, who=actor, keys=keys) if keys else make(code, who=actor)


def lasting(code: str, time: timedelta) -> Detail:
    return make(code, minutes=int(time.total_seconds() // 60))


def columns(detail: Detail | str) -> dict[str, Any]:
    """The columns of a run's row for this detail. A plain text is quoted as it is."""
    if isinstance(detail, str):
        words = detail[:LONGEST].replace("\x00", "")
        detail = make("quoted", words=words) if words else make("")
    return {
        "detail_code": detail.code,
        "detail_args": dict(detail.args) or None,
    }


def in_english(code: str, args: Mapping[str, Any] | None) -> str:
    """The sentence in English, for programs and alerts, whose later reader's language is
    unknown."""
    with translation.override("en"):
        return in_words(code, args)[:LONGEST]


def in_words(code: str, args: Mapping[str, Any] | None, **anew: str) -> str:
    """The sentence in the reader's language. `anew` replaces arguments with translated ones.

    A later release, before it was rolled back, may have written an unknown code or other
    arguments: then the bare code is shown.
    """
    args = args or {}
    try:
        return _sentence_of(code, {**args, **_name_who(args), **anew}) if code else ""
    except MISFITS:
        return code


def _name_who(args: Mapping[str, Any]) -> dict[str, str]:
    return {"who": who(args["who"], args.get("keys"))} if "who" in args else {}


def _sentence_of(code: str, args: Mapping[str, Any]) -> str:
    sentence, values = (
        SENTENCES[code],
        {name: _value_in_words(value) for name, value in args.items()},
    )
    if code in IN_HOURS and args["minutes"] >= FROM_HOURS_ON:
        sentence, values = IN_HOURS[code], {"hours": args["minutes"] // 60}
    return str(sentence.format(**values))


def _value_in_words(value: Any) -> Any:
    return ", ".join(map(_value_text, value)) if isinstance(value, list) else value


def _value_text(value: Any) -> str:
    return str(Device.Platform(value).label) if value in Device.Platform.values else str(value)
