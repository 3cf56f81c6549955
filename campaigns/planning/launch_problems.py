"""Readiness: what keeps a campaign from being launched now, by field."""

from __future__ import annotations

from datetime import datetime

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from campaigns.engagement.opening import load_open_rate
from campaigns.planning import campaign_problems, campaign_variants, local, trial_rendering
from campaigns.planning.campaign import Campaign
from campaigns.planning.repeats import repeating
from campaigns.planning.trial_rendering import Look
from campaigns.texts.rendering import Renderer
from campaigns.texts.template import Template

UNKNOWN_OPENS = gettext_lazy(
    "Nobody knows yet how many open a message of this project: that takes 1,000 sent a day ago or "
    "earlier to phones that report it (docs/receipts.md), and 20 who opened one. Set “At most, per "
    "second” instead."
)


def problems(campaign: Campaign, now: datetime) -> dict[str, str]:
    """What keeps the campaign from being launched now, by field."""
    if errors := unready(campaign, now):
        return errors
    return hopeless(campaign, look(campaign)) or hopeless_variants(campaign)


def unready(campaign: Campaign, now: datetime) -> dict[str, str]:
    """Return the problems that can be found without a look at people, by field."""
    errors: dict[str, str] = {}
    if campaign.archived_at is not None:
        errors["campaign"] = _("It is archived. Bring it back first.")
    for name, checked in (("audience", campaign.audience), ("template", campaign.template)):
        try:
            checked.clean()
        except ValidationError as error:
            errors[name] = f"{checked}: {' '.join(error.messages)}"
    if campaign.schedule_kind == campaign.Schedule.AT and local.is_over(campaign, now):
        errors["at"] = _("This time has passed. Choose a later one, or launch it now.")
    if campaign.schedule_kind == campaign.Schedule.RECURRING and not campaign.coming(now, 1):
        errors |= repeating.none_left(campaign, now)
    if campaign.opens_per_second and not load_open_rate(campaign.project_id, now).known:
        errors["opens_per_second"] = str(UNKNOWN_OPENS)
    if not (campaign.template.title or campaign.template.body):
        errors["template"] = _("The text is empty: write a title and a text.")
    errors |= campaign_problems.chosen_too_late(
        campaign
    )  # events may be kept for less time than when it was saved
    return errors | campaign_variants.unready(campaign)


def hopeless(campaign: Campaign, look: Look, template: Template | None = None) -> dict[str, str]:
    if not look.hopeless:
        return {}
    text = _("%(template)s: FCM would reject it for every person checked. %(detail)s")
    words = {"template": template or campaign.template, "detail": look.refused[0].detail}
    return {"template": text % words}


def hopeless_variants(campaign: Campaign) -> dict[str, str]:
    """Return the first variant that FCM would reject for every person checked."""
    for wording in campaign_variants.wordings(campaign)[1:]:
        if errors := hopeless(campaign, look(campaign, wording.template), wording.template):
            return {"variants": f"{wording.words}: {errors['template']}"}
    return {}


def look(campaign: Campaign, template: Template | None = None) -> Look:
    """Render the text for the people whose message is likely to be the longest."""
    content = (template or campaign.template).frozen()
    renderer = Renderer.for_project(
        campaign.project, content, collapse_id="carillon-0", analytics_label=campaign.label
    )
    return trial_rendering.look(campaign.project_id, campaign.audience.effective_rules, renderer)
