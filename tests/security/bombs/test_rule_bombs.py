"""Rules that are too many, too wide or too deep are refused before anything in them is read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.utils import timezone
from pytest import MonkeyPatch

from campaigns import control
from campaigns.audiences import rules
from campaigns.audiences.audience import Audience
from campaigns.audiences.bounds import AS_KEPT
from campaigns.audiences.problem import Path, Problem
from campaigns.engine import engine
from campaigns.runs.run import Run
from notifications.people.project import Project
from tests.admin.desk import Desk
from tests.api.caller import Caller, fields_at_fault
from tests.given.builders import make_audience, make_campaign

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
    judge = rules._leaf_problem

    def noted(leaf: dict[str, Any], path: Path) -> Problem | None:
        seen.append(leaf)
        return judge(leaf, path)

    monkeypatch.setattr(rules, "_leaf_problem", noted)
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
        ({"any": [LEAF] * 1_000}, "at most 100 rules; there are 1,000"),
        ({"any": [LEAF] * 40_000}, "at most 100 rules; there are 1,499+"),
        ({"all": [NOTHING] * 1_000}, "at most 500 rules and groups; there are 1,001"),
        ({"all": [NOTHING] * 50_000}, "at most 500 rules and groups; there are 1,500+"),
        (comb(4, 5), "at most 100 rules; there are 625"),
        (comb(2, 20), "at most 100 rules; there are 400"),
        ({"all": [nested(4)] * 100}, "at most 500 rules and groups; there are 501"),
        (nested(29), "nested deeper than 6 levels"),
        ({"all": [nested(27)] * 40}, "at most 500 rules and groups; there are 1,121"),
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


class Wide(list[Any]):
    """A list that says how many of it were looked at."""

    seen = 0

    def __iter__(self) -> Iterator[Any]:
        for item in super().__iter__():
            self.seen += 1
            yield item


@pytest.mark.parametrize("node", [NOTHING, LEAF, "nothing like a rule"])
@pytest.mark.parametrize("word", ["all", "any"])
def test_of_far_too_many_rules_only_the_first_are_looked_at(word: str, node: Any) -> None:
    wide = Wide([node] * 50_000)
    assert rules.problems({word: wide})
    assert wide.seen <= 1_500
    assert rules.problems({"not": {word: wide}}, AS_KEPT)
    assert wide.seen <= 1_500 + 2_000


def with_text(characters: int) -> dict[str, Any]:
    """Rules that are fine one by one, with so many characters together."""
    texts = [f"{number:0500}" for number in range(characters // 500)]
    lists = [texts[start : start + 400] for start in range(0, len(texts), 400)]
    return {"any": [{"field": "external_id", "op": "in", "value": some} for some in lists]}


def test_the_texts_of_all_rules_are_counted_before_any_rule_is_judged(
    caller: Caller, desk: Desk, project: Project, judged: list[Any]
) -> None:
    tree = with_text(250_500)
    said = "at most 250,000 characters in all texts together; there are 250,500."
    for path, more in (("audiences", {"name": "A"}), ("audiences/estimate", {})):
        refused = caller.post(path, {**more, "rules": tree})
        assert refused.status_code == 400
        (error,) = refused.json()["errors"]
        assert error["field"] == "rules"
        assert said in error["message"]
        assert "Remove some values, or put the people on a static list." in error["message"]
    text = json.dumps(tree)
    reply = desk.post("audience_count", project=project.pk, kind="rules", rules=text)
    assert (reply.status_code, said in reply.content.decode()) == (200, True)
    assert judged == []
    assert not Audience.objects.exists()


def test_as_much_text_as_there_may_be_is_saved_and_counted(caller: Caller) -> None:
    tree = with_text(250_000)
    assert caller.post("audiences", {"name": "A", "rules": tree}).status_code == 201
    assert caller.post("audiences/estimate", {"rules": tree}).status_code == 200


def test_a_text_that_stands_alone_is_counted_with_the_others() -> None:
    long = {"field": "locale", "op": "eq", "value": "x" * 250_000}
    assert "there are 250,001" in str(rules.problems({"all": [long, {**long, "value": "y"}]})[0])


def test_frozen_rules_may_have_twice_as_much_text(caller: Caller, project: Project) -> None:
    row = make_audience(project)
    ends = {}
    for characters in (500_000, 500_500):
        run = control.launch(make_campaign(project, audience=row), by="x", now=timezone.now())
        Run.objects.filter(pk=run.pk).update(rules=with_text(characters))
        engine.advance(run.pk, now=timezone.now())
        run.refresh_from_db()
        ends[characters] = (run.state, run.cause)
    assert ends == {500_000: ("finished", ""), 500_500: ("paused", "broken")}
    Audience.objects.filter(pk=row.pk).update(rules=with_text(500_000))
    shown = caller.get(f"audiences/{row.pk}").json()["broken"]
    assert "at most 250,000 characters" in shown["problems"][0]


def test_a_tree_as_large_as_it_may_be_is_saved_and_counted(caller: Caller) -> None:
    tree = {"any": [nested(3)] * 99 + [{"all": [nested(3)]}]}
    assert caller.post("audiences", {"name": "A", "rules": tree}).status_code == 201
    assert caller.post("audiences/estimate", {"rules": tree}).status_code == 200


def test_the_page_says_of_too_many_rules_what_the_api_says(desk: Desk, project: Project) -> None:
    text = '{"all": [' + ",".join(['{"all": []}'] * 600) + "]}"
    reply = desk.post("audience_count", project=project.pk, kind="rules", rules=text)
    assert reply.status_code == 200
    assert "at most 500 rules and groups; there are 601" in reply.content.decode()
