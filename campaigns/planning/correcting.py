"""A correction: the text of a run once more, to be put right, for those who got the wrong one.

FCM takes nothing back. What a correction sends carries the tag of the run that it corrects, so that
a phone puts it in the place of what it still shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

from django.db import connection, transaction
from django.db.models import Max
from django.utils.translation import gettext as _

from campaigns.audiences.lists import filling, outcomes
from campaigns.audiences.lists.who import is_known
from campaigns.audiences.rules import MAX_VALUES
from campaigns.planning.campaign import Campaign
from campaigns.runs.revisions.revision import FIRST, content_of
from campaigns.runs.run import Run
from campaigns.runs.variants.group import MAIN as MAIN_VARIANT
from campaigns.runs.variants.group import REST, name_of
from campaigns.runs.variants.variant import has_variants, read_by
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
    outdated: bool = False,
    by: str,
) -> Campaign:
    """A draft for those who got this text, or may have. `revisions`: only those who got one of
    these. `outdated`: only those who got an older text than the newest of their own variant.
    `variant`: only its readers. The draft has the newest text: of that variant, or of the only one
    that was changed, otherwise of variant A. Its list is still to be filled. Raises NotCorrectable.

    If the process dies here: all three rows are there, or none is; the sweep fills the list.
    """
    if why := problem(run):
        raise NotCorrectable(why)
    with transaction.atomic():
        name = _("Got run %(number)d") % {"number": run.pk}
        if outdated and variant is None and len(changed := _newest_revisions(run)) == 1:
            [variant] = changed
        tree = rules(run, text, revisions, variant, outdated=outdated)
        audience = filling.begin(run.project_id, name, tree, run=run)
        named = _("%(name)s (correction)")
        campaign: Campaign = run.campaign.duplicate_for(audience, named=named, corrects=run)
        campaign.template = _as_sent(run, variant or MAIN_VARIANT, named=campaign.name, by=by)
        campaign.save()
    return campaign


def rules(
    run: Run,
    text: str,
    revisions: Sequence[int] = (),
    variant: int | None = None,
    *,
    outdated: bool = False,
) -> dict[str, Any]:
    """Who got it, or may have; of one text: whose language has that text today."""
    if outdated:
        texts = _outdated(run, variant)
    else:
        of_revision = [{"revision": number} for number in revisions] or [{}]
        of_variant = _readers(run, variant) if variant is not None else [{}]
        texts = [{**one, **other} for one, other in product(of_revision, of_variant)]
    ways = product(("accepted", "unknown"), texts)
    got = {"any": [outcomes.of_run(run, out, **which) for out, which in ways]}
    if text == EVERY:
        return got
    read = texts_of(run)
    if text != MAIN:
        locales = read.get(text, [])
        return {"all": [got, {"field": "locale", "op": "in", "value": locales}]}
    others = [one for tag, locales in read.items() if tag != MAIN for one in locales]
    return {"all": [got, {"field": "locale", "op": "not_in", "value": others}]}


def _readers(run: Run, variant: int) -> list[dict[str, Any]]:
    """List the groups of the run that receive this variant."""
    if not has_variants(run):
        return [{}]
    return [{"variant": name_of(one)} for one in (variant, REST) if read_by(run, one) == variant]


def _newest_revisions(run: Run) -> dict[int, int]:
    """Map each changed variant to the number of its newest revision."""
    return dict(run.revisions.order_by().values_list("variant").annotate(Max("number")))


def _outdated(run: Run, variant: int | None) -> list[dict[str, Any]]:
    """List the (revision, variant) pairs of outdated texts. Raises NotCorrectable if none is."""
    newest = _newest_revisions(run)
    changed = newest if variant is None else newest.keys() & {variant}
    if not changed:
        raise NotCorrectable(_("Everyone who got it has the newest text."))
    return [
        {"revision": number, **readers}
        for one in sorted(changed)
        for readers in _readers(run, one)
        for number in range(FIRST, newest[one])
    ]


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
