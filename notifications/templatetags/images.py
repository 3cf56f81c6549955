"""Image filters: whether a project's pages show an image, and what to do if they do not."""

from __future__ import annotations

from django import template

from notifications.images.address import name_in, on_our_pages
from notifications.people import images
from notifications.people.project import Project

register = template.Library()


@register.filter
def shown_in(address: str, project: Project) -> bool:
    return bool(name_in(address)) or images.allowed(address, project.image_hosts)


@register.filter
def here(address: str) -> str:
    """Return the address from which our own pages load an image."""
    return on_our_pages(address)


@register.filter
def why_not_in(address: str, project: Project) -> str:
    return images.refusal(address, project.name)
