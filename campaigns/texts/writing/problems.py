"""Problems of a text with their places, so that the page can put the cursor there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ValidationError

from campaigns.texts.liquid import Problem
from campaigns.texts.writing.field_labels import place

AROUND = 16


@dataclass(frozen=True)
class Found:
    """One problem and its place. Line and column count from 1; 0 means the whole field."""

    field: str
    locale: str
    place: str
    words: str
    line: int = 0
    column: int = 0
    excerpt: tuple[str, str, str] | None = None


def locate_problems(
    errors: Mapping[str, list[ValidationError]], content: Mapping[str, Any]
) -> list[Found]:
    return [_locate(field, error, content) for field in errors for error in errors[field]]


def _locate(field: str, error: ValidationError, content: Mapping[str, Any]) -> Found:
    problem = (error.params or {}).get("problem")
    if isinstance(problem, Problem):
        return _locate_in_text(problem, content)
    return Found(field, "", place((field,)), error.messages[0])


def _locate_in_text(problem: Problem, content: Mapping[str, Any]) -> Found:
    field, locale, line, column = problem.field, problem.locale, problem.line, problem.column
    where = place(("locales", locale, field) if locale else (field,))
    texts = content["locales"][locale] if locale else content
    excerpt = _excerpt(texts[field], line, column) if line else None
    return Found(field, locale, where, problem.with_position, line, column, excerpt)


def _excerpt(source: str, line: int, column: int) -> tuple[str, str, str] | None:
    """The letters before the place, at it, and after it."""
    lines = source.split("\n")
    if line > len(lines):
        return None
    text, at = lines[line - 1], column - 1
    before, after = text[max(0, at - AROUND) : at], text[at + 1 : at + 1 + AROUND]
    return before, text[at : at + 1], after
