"""Rules that are refused: where, and what to write instead."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import ValidationError

from campaigns.audiences import rules
from notifications.people.project import Project
from tests.given.builders import make_audience

EVENT = {"name": "bought"}


@pytest.mark.parametrize(
    ("leaf", "said"),
    [
        ({"all": [], "any": []}, "rules: use one of all, any and not in an object"),
        ({"field": "platform", "op": {"a": 1}, "value": "ios"}, "rules.op: must be a text, one of"),
        ({"field": "platform", "op": "eq", "value": "toaster"},
         "rules.value: unknown platform: use android, ios, web."),
        ({"field": "platform", "op": "in", "value": ["ios", "fax"]}, "unknown platform"),
        ({"field": "run", "op": "was", "value": {"outcome": "accepted", "campaign": []}},
         "“campaign” must be the id of a campaign."),
        ({"field": "event", "op": "did", "value": EVENT | {"where": [{"property": "price"}]}},
         "“op” is missing in “where”"),
        ({"field": "event", "op": "did", "value": EVENT | {"within": "P٣D"}},
         "“within” must be an ISO 8601 duration"),
        ({"field": "created_at", "op": "within_last", "value": "P٣D"}, "must be an ISO 8601"),
        ({"field": "created_at", "op": "within_last", "value": "P1000000D"},
         "rules.value: too long; at most P99999D"),
        ({"field": "run", "op": "was", "value": {"outcome": "accepted", "within": "P1000000D"}},
         "“within” too long; at most"),
    ],
)  # fmt: skip
def test_an_impossible_rule_is_refused_with_what_to_write(leaf: Any, said: str) -> None:
    with pytest.raises(ValidationError) as refused:
        rules.validate(leaf, lists=[])
    assert said in refused.value.messages[0]
    assert "{'" not in refused.value.messages[0]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("leaf", "said"),
    [
        ({"field": "list", "op": "eq", "value": 991}, "there is no static list 991"),
        ({"field": "audience", "op": "eq", "value": 991}, "there is no audience 991"),
        ({"field": "run", "op": "was", "value": {"outcome": "accepted", "run": 991}},
         "there is no run 991"),
    ],
)  # fmt: skip
def test_a_rule_that_names_what_is_not_there_is_named_itself(
    project: Project, leaf: Any, said: str
) -> None:
    audience = make_audience(project)
    audience.rules = {"all": [{"any": []}, {"not": leaf}]}
    with pytest.raises(ValidationError) as refused:
        audience.full_clean()
    assert refused.value.messages == [f"rules.all[1].not.value: {said} in this project."]
