"""Variant: another text of a campaign, for some of its people. Variant A is the main text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models, transaction
from django.db.models import Q

from campaigns.runs.variants.group import LETTERS, MAIN, in_words
from campaigns.texts.template import Template

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


def choose(campaign: Any, chosen: Sequence[tuple[Template, int]]) -> bool:
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
