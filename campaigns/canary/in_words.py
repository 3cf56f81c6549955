"""Canary texts: the first part in sentences, before the launch and when a run asks a person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from campaigns.canary.choose_people import size_of
from campaigns.canary.judgement import Figures, Missed, Terms
from campaigns.runs import details
from campaigns.runs.details import Detail
from campaigns.runs.run import Run
from notifications.values.moments import in_words
from notifications.values.shares import share

WITHOUT_A_WINNER = {
    Run.NoWinner.ASK: gettext_lazy("Without a clear winner, the run pauses and asks you."),
    Run.NoWinner.FIRST: gettext_lazy("Without a clear winner, the rest gets variant A."),
    Run.NoWinner.SPLIT: gettext_lazy(
        "Without a clear winner, the rest is split among the variants."
    ),
}


def detail_of(devices: int, figures: Figures, terms: Terms, wrong: Sequence[Missed]) -> Detail:
    """Why a run asks a person: the figures and their limits, to keep in the run's row."""
    if Missed.ACCEPTED in wrong:
        return details.make("first_part_nobody", devices=devices)
    values: dict[str, Any] = {
        "sent": figures.sent,
        "rejected": share(figures.rejected, figures.sent),
        "most_rejected": terms.most_rejected,
        "dead": share(figures.dead, figures.sent),
        "most_dead": terms.most_dead,
    }
    if not figures.tells(terms):
        return details.make("first_part_untold", **values)
    received = {
        "able": figures.able,
        "received": share(figures.received, figures.able or 0),
        "least_received": terms.least_received,
    }
    return details.make("first_part", **values, **received)


def foretold(devices: int | None, settings: Any) -> str:
    """Says before the launch what is sent first; empty: the campaign has no first part."""
    if settings.first_percent is None or devices is None:
        return ""
    first = size_of(devices, settings.first_percent, settings.first_least)
    if not first:
        text = _("All go at once: there are not more than the %(least)s of a first part.")
        return text % {"least": f"{settings.first_least:,}"}
    text = _("First about %(first)s of %(all)s, then a wait of %(wait)s, then the rest.")
    wait = in_words(settings.first_wait_seconds)
    return text % {"first": f"{first:,}", "all": f"{devices:,}", "wait": wait}


def judged_by(settings: Any) -> str:
    """The limits of the first part in a sentence, and how the variant is chosen."""
    text = _(
        "The rest goes if at most %(rejected)s %% are rejected and %(dead)s %% of the addresses "
        "dead. Else it asks you."
    )
    which = " " + chosen_by(settings) if settings.tries_variants else ""
    if settings.first_least_received:
        text = _(
            "The rest goes if at most %(rejected)s %% are rejected and %(dead)s %% of the "
            "addresses dead, and at least %(received)s %% of those who can tell received it. "
            "Else it asks you."
        )
    bounds = {
        "rejected": settings.first_most_rejected,
        "dead": settings.first_most_dead,
        "received": settings.first_least_received,
    }
    return text % bounds + which


def chosen_by(settings: Any) -> str:
    """Says which variant the rest gets, and what happens without a clear winner."""
    text = _("The rest gets the variant that clearly more people opened.")
    if settings.winner_by == Run.WinnerBy.GOAL:
        text = _("The rest gets the variant that clearly more people followed with “%(goal)s”.")
        text %= {"goal": settings.goal_event}
    return f"{text} {WITHOUT_A_WINNER[settings.no_winner]}"
