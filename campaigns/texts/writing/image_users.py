"""What needs an uploaded image: templates that name it, runs whose phones may still fetch it."""

from __future__ import annotations

from datetime import timedelta

from django.db.models import Q, TextField
from django.db.models.functions import Cast
from django.utils.translation import gettext as _

from campaigns.runs.revisions.revision import RunRevision
from campaigns.runs.run import STATE, Run
from campaigns.runs.variants.variant import RunVariant
from campaigns.texts.template import Template
from notifications.images.image import Image
from notifications.postgres import clock
from notifications.postgres.budget import TooSlow, statement_timeout

# A phone that was off gets a message after 28 days at most, and an inbox shows it for longer.
FETCHED_FOR = timedelta(days=90)
GOING = (STATE.SCHEDULED, STATE.PREPARING, STATE.SENDING, STATE.PAUSED)
LOOKING_SECONDS = 1.0
NAMED = 5  # of each kind


def find_users(image: Image) -> list[str]:
    """What needs the image, in words; empty if nothing does. It says so if it takes too long."""
    try:
        with statement_timeout(seconds=LOOKING_SECONDS):
            return [*_templates(image), *_runs(image)]
    except TooSlow:
        return [_("perhaps a run: there are too many to look through now")]


def _templates(image: Image) -> list[str]:
    mine = Template.objects.filter(project=image.project_id)
    # Besides the image field, a language, an option such as an icon, or the data may name it.
    inside = {name: Cast(name, TextField()) for name in ("locales", "options", "data")}
    searchable = mine.annotate(**{f"{name}_said": cast for name, cast in inside.items()})
    mentions = Q(image__contains=image.name)
    for name in inside:
        mentions |= Q(**{f"{name}_said__contains": image.name})
    names = searchable.filter(mentions).values_list("name", flat=True)[:NAMED]
    return [_("the template “%(name)s”") % {"name": name} for name in names]


def _runs(image: Image) -> list[str]:
    mine = Run.objects.filter(project=image.project_id)
    lately = Q(launched_at__gte=clock.now() - FETCHED_FOR) | Q(state__in=GOING)
    names_it = Q(said__contains=image.name)
    searchable = mine.filter(lately).annotate(said=Cast("content", TextField()))
    ids = set(searchable.filter(names_it).order_by("-pk").values_list("pk", flat=True)[:NAMED])
    for texts in (RunRevision, RunVariant):  # the run's texts besides its main text
        others = texts.objects.filter(run__in=mine.filter(lately))
        searchable_others = others.annotate(said=Cast("content", TextField())).filter(names_it)
        ids |= set(searchable_others.values_list("run_id", flat=True)[:NAMED])
    return [_("run %(number)s") % {"number": pk} for pk in sorted(ids, reverse=True)[:NAMED]]
