"""Rules that are too many, too wide or too deep are refused before anything in them is read."""

from __future__ import annotations

from typing import Any

import pytest
from pytest import MonkeyPatch

from campaigns import rules
from campaigns.audience import Audience
from notifications.project import Project
from tests.admin.desk import Desk
from tests.api.caller import Caller, fields_at_fault

LEAF = {"field": "locale", "op": "eq", "value": "ko"}
NONSENSE = {"field": "no such field", "op": "burn", "value": {"a": 1}}
NOTHING: dict[str, Any] = {"all": []}


def nested(levels: int, inner: Any = LEAF) -> Any:
    for _ in range(levels):
        inner = {"not": inner}
    return inner


def comb(levels: int, width: int) -> Any:
    """Groups in groups: few on each level of the way, many in all."""
    return {"all": [comb(levels - 1, width) for _ in range(width)]} if levels else LEAF


@pytest.fixture
def judged(monkeypatch: MonkeyPatch) -> list[Any]:
    """Every leaf whose contents were looked at."""
    seen: list[Any] = []
    judge = rules._leaf_problems

    def noted(leaf: dict[str, Any]) -> list[str]:
        seen.append(leaf)
        return judge(leaf)

    monkeypatch.setattr(rules, "_leaf_problems", noted)
    return seen


@pytest.mark.parametrize("before", [NOTHING, {"any": []}, nested(1, NOTHING)])
def test_what_stands_behind_a_hundred_empty_groups_is_judged_too(
    caller: Caller, before: Any
) -> None:
    answer = caller.post("audiences", {"name": "A", "rules": {"all": [before] * 101 + [NONSENSE]}})
    assert answer.status_code == 400
    assert fields_at_fault(answer) == ["rules"]
    assert "rules.all[101].field" in answer.json()["errors"][0]["message"]
    assert not Audience.objects.exists()


@pytest.mark.parametrize(
    ("tree", "said"),
    [
        ({"all": [LEAF] * 101}, "at most 100 rules; there are 101"),
        ({"any": [LEAF] * 50_000}, "at most 100 rules; there are 50,000"),
        ({"all": [NOTHING] * 50_000}, "at most 500 rules and groups; there are 50,001"),
        (comb(4, 5), "at most 100 rules; there are 625"),
        (comb(2, 20), "at most 100 rules; there are 400"),
        ({"all": [nested(4)] * 100}, "at most 500 rules and groups; there are 501"),
        (nested(29), "nested deeper than 6 levels"),
        ({"all": [nested(27)] * 300}, "at most 100 rules; there are 300"),
    ],
)
def test_what_is_too_much_is_counted_before_any_rule_of_it_is_judged(
    caller: Caller, judged: list[Any], tree: Any, said: str
) -> None:
    for method, path in (("POST", "audiences"), ("POST", "audiences/estimate")):
        answer = caller(
            method, path, {"rules": tree} | ({"name": "A"} if path == "audiences" else {})
        )
        assert answer.status_code == 400
        (error,) = answer.json()["errors"]
        assert error["field"] == "rules"
        assert said in error["message"]
        assert error["message"].endswith(".")
    assert judged == []


def test_a_tree_as_large_as_it_may_be_is_saved_and_counted(caller: Caller) -> None:
    tree = {"any": [nested(3)] * 99 + [{"all": [nested(3)]}]}
    assert caller.post("audiences", {"name": "A", "rules": tree}).status_code == 201
    assert caller.post("audiences/estimate", {"rules": tree}).status_code == 200


def test_the_page_says_of_too_many_rules_what_the_api_says(desk: Desk, project: Project) -> None:
    text = '{"all": [' + ",".join(['{"all": []}'] * 600) + "]}"
    reply = desk.post("audience_count", project=project.pk, kind="rules", rules=text)
    assert reply.status_code == 200
    assert "at most 500 rules and groups; there are 601" in reply.content.decode()
