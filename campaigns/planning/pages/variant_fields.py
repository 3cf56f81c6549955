"""Variants in the campaign form: a template and a weight for each additional text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.widgets import UnfoldAdminIntegerFieldWidget, UnfoldAdminSelectWidget

from campaigns.planning import campaign_variants
from campaigns.planning.campaign import Campaign
from campaigns.planning.campaign_variants import EVEN, LEAST, MOST
from campaigns.planning.pages.in_place import InPlace
from campaigns.runs.variants.group import LETTERS, in_words
from campaigns.texts.template import Template

WEIGHT = "weight"  # the main text's weight: a column of the campaign
OTHERS = range(1, len(LETTERS))


def template_field(number: int) -> str:
    return f"variant_{number}"


def weight_field(number: int) -> str:
    return f"weight_{number}"


PAIRS = [(number, template_field(number), weight_field(number)) for number in OTHERS]
FIELDS = (WEIGHT, *(name for _number, *pair in PAIRS for name in pair))


def _weight() -> forms.IntegerField:
    return forms.IntegerField(
        min_value=LEAST,
        max_value=MOST,
        initial=EVEN,
        required=False,
        widget=UnfoldAdminIntegerFieldWidget(attrs={"inputmode": "numeric"}),
    )


def _template() -> forms.ModelChoiceField[Template]:
    return forms.ModelChoiceField(
        Template.objects.none(),
        required=False,
        empty_label=gettext_lazy("None"),
        widget=UnfoldAdminSelectWidget,
    )


class VariantFormMixin(InPlace):
    """The variants' form fields. Empty rows are unused variants."""

    weight = _weight()
    variant_1, weight_1 = _template(), _weight()
    variant_2, weight_2 = _template(), _weight()
    variant_3, weight_3 = _template(), _weight()
    variant_4, weight_4 = _template(), _weight()


def offer(form: Any, project_id: int | None) -> None:
    """Offer the project's templates, and fill in the campaign's variants."""
    form.fields[WEIGHT].label = _("Weight of %(variant)s") % {"variant": in_words(0)}
    stored = (
        {stored_variant.number: stored_variant for stored_variant in form.instance.variants.all()}
        if form.instance.pk
        else {}
    )
    for number, template, weight in PAIRS:
        words = in_words(number)
        form.fields[template].queryset = Template.objects.filter(project=project_id)
        form.fields[template].label = words
        form.fields[template].error_messages["invalid_choice"] = _(
            "There is no such template in this project."
        )
        form.fields[weight].label = _("Weight of %(variant)s") % {"variant": words}
        if stored_variant := stored.get(number):
            form.initial[template], form.initial[weight] = (
                stored_variant.template_id,
                stored_variant.weight,
            )


def clean(form: Any, cleaned: dict[str, Any]) -> None:
    """Set empty weights to the default, and refuse two variants with the same text."""
    if WEIGHT in cleaned and cleaned[WEIGHT] is None:
        cleaned[WEIGHT] = EVEN
    templates = {cleaned.get("template")} - {None}
    for _number, name, _weight_name in PAIRS:
        template = cleaned.get(name)
        if template is not None and template in templates:
            form.add_error(name, _("Another variant has the same text. Choose another template."))
        templates |= {template} - {None}


def chosen(cleaned: dict[str, Any]) -> list[tuple[Template, int]]:
    """The chosen variants in order, without gaps: if B is removed, C becomes B."""
    return [
        (cleaned[template], cleaned.get(weight) or EVEN)
        for _number, template, weight in PAIRS
        if cleaned.get(template)
    ]


def save(form: Any, campaign: Campaign) -> None:
    campaign_variants.choose(campaign, chosen(form.cleaned_data))


def posted(data: Any, project_id: int) -> Sequence[tuple[int, Template, int]]:
    """The form's current variants, while the user types. Ignores bad values."""
    variants = []
    mine = Template.objects.filter(project=project_id)
    for number, template, weight in PAIRS:
        named = data.get(template, "")
        row = mine.filter(pk=named).first() if named.isdecimal() and len(named) < 18 else None
        if row is not None:
            variants.append((number, row, posted_weight(data.get(weight, ""))))
    return variants


def posted_weight(text: str) -> int:
    known = text.isascii() and text.isdecimal() and len(text) < 4
    return min(max(int(text), LEAST), MOST) if known else EVEN
