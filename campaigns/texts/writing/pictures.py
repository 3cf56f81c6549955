"""Checks the images of a text that is being written: the project must allow their hosts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from django.utils.translation import gettext

from campaigns.texts.template import Template
from notifications.fcm import rules
from notifications.images.address import name_in
from notifications.people import images
from notifications.people.project import Project


def problems(texts: dict[str, Any], project: Project, before: Template) -> dict[str, list[str]]:
    """The problems by field. Images saved before may stay: phones fetch them all the same."""
    old_sources = {source for *_, source in _image_sources(before.written())}
    messages: dict[str, list[str]] = {}
    for name, prefix, source in _image_sources(texts):
        # The template itself reports what is not an address at all.
        is_new = source not in old_sources and not _is_a_persons(source) and not rules.https(source)
        if is_new and not name_in(source) and not images.allowed(source, project.image_hosts):
            refusal = images.refusal(source, project.name)
            nothing = gettext("Nothing was saved.")
            messages.setdefault(name, []).append(f"{prefix}{refusal} {nothing}")
    return messages


def hosts(templates: Iterable[Template]) -> set[str]:
    sources = (source for one in templates for *_, source in _image_sources(one.written()))
    theirs = (one for one in sources if not _is_a_persons(one) and not name_in(one))
    return {images.host_of(source) for source in theirs} - {""}


def _image_sources(texts: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield (field, place in it, address) of each image."""
    languages = texts.get("locales") or {}
    if image := texts.get("image"):
        yield "image", "", image
    for tag, texts_there in languages.items() if isinstance(languages, dict) else ():
        if isinstance(texts_there, dict) and isinstance(image := texts_there.get("image"), str):
            yield "locales", f"{tag}.image: ", image


def _is_a_persons(source: str) -> bool:
    """Whether the host comes from a person's value; the preview then checks it."""
    return source.startswith("{") or "{" in source.partition("//")[2].partition("/")[0]
