"""The variants of a campaign before its launch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models, transaction
from django.db.models import Q, prefetch_related_objects
from django.utils.translation import gettext as _

from campaigns.canary.choose_people import size_of
from campaigns.runs.run import Run
from campaigns.runs.variants import split, variant
from campaigns.runs.variants.group import LETTERS, MAIN, in_words
from campaigns.texts.template import Template

if TYPE_CHECKING:
    from campaigns.planning.campaign import Campaign
    from campaigns.runs.run import Run

# --- Variant --------------------------------------------------------------------------------------

LEAST, MOST = 1, 100
EVEN = 50  # the weight of each, by default
IN_RANGE = [MinValueValidator(LEAST), MaxValueValidator(MOST)]


class Variant(models.Model):
    """A text that some people of a campaign get instead of the main one."""

    # Typed loosely: the campaign reads its variants, and nothing here needs a campaign.
    campaign: models.ForeignKey[Any, Any] = models.ForeignKey(
        "campaigns.Campaign", on_delete=models.CASCADE, related_name="variants"
    )
    number = models.SmallIntegerField()
    template = models.ForeignKey(Template, on_delete=models.PROTECT, related_name="variants")
    weight = models.PositiveSmallIntegerField(default=EVEN, validators=IN_RANGE)

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(fields=["campaign", "number"], name="one_variant_per_number"),
            models.CheckConstraint(
                condition=Q(number__gt=MAIN, number__lt=len(LETTERS)), name="a_variant_we_know"
            ),
            models.CheckConstraint(
                condition=Q(weight__gte=LEAST, weight__lte=MOST), name="a_weight_in_range"
            ),
        ]

    def __str__(self) -> str:
        return self.as_user

    @property
    def as_user(self) -> str:
        """How a list of a template's users names it. Callers do not know its own number."""
        return f"variant {LETTERS[self.number]} of campaign {self.campaign_id}"


@dataclass(frozen=True)
class Wording:
    """One text of a campaign: its template, and the weight of the people who get it."""

    number: int
    template: Template
    weight: int

    @property
    def words(self) -> str:
        return in_words(self.number)


def choose(campaign: Campaign, chosen: Sequence[tuple[Template, int]]) -> bool:
    """Replace the campaign's variants, B first; return whether that changes anything.

    If the process dies here: it has the new variants, or still the old ones.
    """
    current = [(row.template_id, row.weight) for row in campaign.variants.all()]
    if current == [(template.pk, weight) for template, weight in chosen]:
        return False
    with transaction.atomic():
        campaign.variants.all().delete()
        Variant.objects.bulk_create(
            Variant(campaign=campaign, number=number, template=template, weight=weight)
            for number, (template, weight) in enumerate(chosen, start=MAIN + 1)
        )
    return True


# --- Launching with variants ----------------------------------------------------------------------


def wordings(campaign: Campaign) -> list[Wording]:
    """Return all texts of the campaign, the main text first."""
    main = Wording(MAIN, campaign.template, campaign.weight)
    extras = list(campaign.variants.all()) if campaign.pk else []
    prefetch_related_objects(extras, "template")  # no query if they were loaded before
    return [main, *(Wording(extra.number, extra.template, extra.weight) for extra in extras)]


def split_of(campaign: Campaign, devices: int | None = None) -> split.Split:
    """Return how a launch now would share out its people, with any seed. `devices`: how many there
    are, if known: in a small audience, the first part is larger than its percent."""
    weights = tuple(wording.weight for wording in wordings(campaign))
    held_out = split.holdout_of(
        campaign.project_id, campaign.kind, past_holdout=campaign.past_holdout
    )
    tried = share_tried(campaign, devices) if campaign.tries_variants and len(weights) > 1 else 1.0
    return split.Split(1, weights, campaign.control_percent, held_out, tried=tried)


def share_tried(campaign: Campaign | Run, devices: int | None) -> float:
    """Return which share of the people who get a text try the variants."""
    percent = campaign.first_percent
    if percent is None:
        return 1.0
    if devices is None:
        return float(percent / 100)
    first = size_of(devices, percent, campaign.first_least)
    return first / devices if first else 1.0


def unready(campaign: Campaign) -> dict[str, str]:
    """Return what is wrong with the first variant that has a problem."""
    template_ids, extras = {campaign.template_id}, wordings(campaign)[1:]
    if campaign.tries_variants and not extras:
        text = _("There are no variants to choose from. Choose some under “What”.")
        return {"winner_by": text}
    for wording in extras:
        if words := _problem(wording, template_ids):
            return {"variants": f"{wording.words} ({wording.template}): {words}"}
        template_ids.add(wording.template.pk)
    return {}


def _problem(wording: Wording, template_ids: set[int]) -> str:
    if wording.template.pk in template_ids:
        return _("Another variant has the same text. Choose another template.")
    if not (wording.template.title or wording.template.body):
        return _("The text is empty: write a title and a text.")
    try:
        wording.template.clean()
    except ValidationError as error:
        return " ".join(error.messages)
    return ""


def freeze(run: Run, texts: list[Wording]) -> None:
    variant.keep(run, {wording.number: wording.template.frozen() for wording in texts[1:]})
