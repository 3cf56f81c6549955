"""Endpoint checks: validates the settings of a webhook endpoint, for pages and the API."""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.utils.translation import gettext as _

from campaigns.planning.campaign import Campaign
from notifications.people.project import Project
from notifications.webhooks.endpoint import MAX_ENDPOINTS, Endpoint
from notifications.webhooks.event_types import FOR_PEOPLE, EventType
from notifications.webhooks.transports import url_guard

MAX_ADDRESSES = 20


def take_place(endpoint: Endpoint, where: str) -> str:
    """Set the endpoint's target. Returns the secret of a new webhook, else an empty string. Raises
    ValidationError."""
    where = where.strip()
    if where == endpoint.target:  # unchanged, as the page shows it: only the end of Slack's URL
        return ""
    if endpoint.via == Endpoint.Via.EMAIL:
        endpoint.target = _parse_emails(where)
        return ""
    url_guard.validate(where)
    if endpoint.via == Endpoint.Via.SLACK:
        endpoint.seal(where)
        endpoint.target = f"{urlsplit(where).hostname}/…{where[-4:]}"
        return ""
    endpoint.target = where
    return "" if endpoint.sealed else endpoint.new_secret()


def _parse_emails(text: str) -> str:
    if not settings.EMAIL_IS_SET:
        raise ValidationError(
            _("This installation sends no e-mail: an operator has to set EMAIL_URL first.")
        )
    addresses = [part.strip() for part in text.replace("\n", ",").split(",") if part.strip()]
    if not 1 <= len(addresses) <= MAX_ADDRESSES:
        raise ValidationError(_("Give 1 to %(most)s addresses.") % {"most": MAX_ADDRESSES})
    for address in addresses:
        try:
            validate_email(address)
        except ValidationError:
            message = _("“%(text)s” is not an e-mail address.")
            raise ValidationError(message % {"text": address[:100]}) from None
    return ", ".join(dict.fromkeys(addresses))


def judge_kinds(via: str, kinds: Collection[str]) -> None:
    if not kinds:
        raise ValidationError(_("Choose at least one."))
    if via == Endpoint.Via.WEBHOOK:
        return
    if odd := [str(EventType(kind).label) for kind in kinds if kind not in FOR_PEOPLE]:
        text = _(
            "Slack and e-mail take what concerns runs, and alerts. There may be thousands a second "
            "of: %(kinds)s. Use a webhook for these."
        )
        raise ValidationError(text % {"kinds": ", ".join(odd)})


def judge_batched(via: str, batched: bool) -> None:
    if batched and via != Endpoint.Via.WEBHOOK:
        raise ValidationError(_("Only a webhook can be sent batches."))


def judge_only(project: Project, ids: Collection[int]) -> None:
    known_ids = set(
        Campaign.objects.filter(project=project, pk__in=ids).values_list("pk", flat=True)
    )
    if lacking := sorted(set(ids) - known_ids):
        text = _("There is no campaign %(ids)s in this project.")
        raise ValidationError(text % {"ids": ", ".join(map(str, lacking[:10]))})


def judge_room(project: Project) -> None:
    if Endpoint.objects.filter(project=project).count() >= MAX_ENDPOINTS:
        text = _("A project has at most %(most)s endpoints. Delete one first.")
        raise ValidationError(text % {"most": MAX_ENDPOINTS})
