"""A correction: the text of a run once more, to be put right, for those who got the wrong one.

FCM takes nothing back. What a correction sends carries the tag of the run that it corrects, so that
a phone puts it in the place of what it still shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

from django.db import connection, transaction
from django.utils.translation import gettext as _

from campaigns.audiences.lists import filling, outcomes
from campaigns.audiences.lists.who import is_known
from campaigns.audiences.rules import MAX_VALUES
from campaigns.planning.campaign import Campaign
from campaigns.runs.revisions.revision import content_of
from campaigns.runs.run import Run
from campaigns.runs.variants.group import MAIN as MAIN_VARIANT
from campaigns.runs.variants.group import REST, name_of
from campaigns.runs.variants.variant import read_by
from campaigns.texts import revision
from campaigns.texts.content import TEXTS, text_for
from campaigns.texts.template import Template
from notifications.postgres.budget import TooSlow, within

LOOKING_SECONDS = 2.0
EVERY = "every"  # text; the main one has an empty tag
MAIN = "main"


class NotCorrectable(Exception):
    """Nothing of it is to be corrected, or not yet; the words say what to do."""


def problem(run: Run) -> str:
    """Why it cannot be corrected now."""
    if run.finished_at is None:
        said = _(
            "Run %(number)d has not ended. Change its text for those who still wait; once it has "
            "ended, or is cancelled, correct it for those who got it."
        )
    elif run.forgotten_at is not None:
        said = _("The recipients of run %(number)d were removed: nobody knows who got it.")
    elif not is_known(run) or not run.accepted + run.unknown:
        said = _("Nobody got run %(number)d: there is nothing to correct.")
    else:
        return ""
    return said % {"number": run.pk}


def corrections_of(run: Run) -> list[Campaign]:
    """Each that was made of it, launched or not: its text was wrong."""
    return list(Campaign.objects.filter(corrects=run).order_by("pk"))


def draft(
    run: Run,
    *,
    text: str,
    revisions: Sequence[int] = (),
    variant: int | None = None,
    by: str,
) -> Campaign:
    """A campaign to those who got this text of it, or may have; of a text that was changed under
    way, only those who got one of these revisions; of a run with variants, only those who got that
    one, if one is named. It says the newest, of variant A otherwise. Nothing is sent until somebody
    launches it. Its list is still to be filled. Raises NotCorrectable.

    If the process dies here: all three rows are there, or none is; the sweep fills the list.
    """
    if why := problem(run):
        raise NotCorrectable(why)
    with transaction.atomic():
        name = _("Got run %(number)d") % {"number": run.pk}
        tree = rules(run, text, revisions, variant)
        audience = filling.begin(run.project_id, name, tree, run=run)
        named = _("%(name)s (correction)")
        campaign: Campaign = run.campaign.duplicate_for(audience, named=named, corrects=run)
        campaign.template = _as_sent(run, variant or MAIN_VARIANT, named=campaign.name, by=by)
        campaign.save()
    return campaign


def rules(
    run: Run, text: str, revisions: Sequence[int] = (), variant: int | None = None
) -> dict[str, Any]:
    """Who got it, or may have; of one text: whose language has that text today."""
    of_revision = [{"revision": number} for number in revisions] or [{}]
    groups = [one for one in (variant, REST) if one is not None and read_by(run, one) == variant]
    of_variant = [{"variant": name_of(one)} for one in groups] or [{}]
    ways = product(("accepted", "unknown"), of_revision, of_variant)
    got = {"any": [outcomes.of_run(run, out, **one, **other) for out, one, other in ways]}
    if text == EVERY:
        return got
    read = texts_of(run)
    if text != MAIN:
        locales = read.get(text, [])
        return {"all": [got, {"field": "locale", "op": "in", "value": locales}]}
    others = [one for tag, locales in read.items() if tag != MAIN for one in locales]
    return {"all": [got, {"field": "locale", "op": "not_in", "value": others}]}


def texts_of(run: Run) -> dict[str, list[str]]:
    """Its texts that somebody read, each with the languages of whoever did; only one, or none that
    can be told apart: empty."""
    if not run.content["locales"]:
        return {}
    read: dict[str, list[str]] = {}
    for locale in _locales(run):
        read.setdefault(text_for(run.content, locale) or MAIN, []).append(locale)
    return read if len(read) > 1 else {}


def _locales(run: Run) -> list[str]:
    try:
        with within(seconds=LOOKING_SECONDS), connection.cursor() as cursor:
            cursor.execute(
                "SELECT DISTINCT locale FROM campaigns_recipient WHERE run_id = %s"
                " AND locale IS NOT NULL ORDER BY 1 LIMIT %s",
                [run.pk, MAX_VALUES + 1],
            )
            found = [row[0] for row in cursor.fetchall()]
            return found if len(found) <= MAX_VALUES else []
    except TooSlow:
        return []


def _as_sent(run: Run, variant: int, *, named: str, by: str) -> Template:
    """A text of its own with what the run said last: its template may say something else by now."""
    newest = content_of(run, variant=variant)
    content = {name: newest[name] for name in (*TEXTS, "data", "locales")}
    made = Template.objects.create(
        project_id=run.project_id,
        name=_free_name(run.project_id, named),
        options=newest.get("options", {}),
        buttons=newest.get("buttons", []),
        **content,
    )
    revision.keep(made, by=by)
    return made


def _free_name(project_id: int, wanted: str) -> str:
    taken = {*Template.objects.filter(project=project_id).values_list("name", flat=True)}
    numbered = (wanted[:100], *(f"{wanted[:94]} {n}" for n in range(2, len(taken) + 3)))
    return next(name for name in numbered if name not in taken)
