"""API fields: the names that the API uses for a campaign's fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from campaigns.runs.policy import TIMES

Value = TypeVar("Value")

API_FIELDS = {name: f"schedule.{name.removeprefix('schedule_')}" for name in TIMES}


def by_api_field(problems: Mapping[str, Value]) -> dict[str, Value]:
    """Return a campaign's problems, keyed by the API's field names."""
    return {API_FIELDS.get(name, name): problem for name, problem in problems.items()}
