"""docs/grafana.json and docs/alerts.yml ask for numbers that are there, in PromQL that reads."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from campaigns import tasks
from campaigns.engagement.receipt import Event, Report
from campaigns.engagement.store_receipts import keep
from notifications.people.project import Project
from tests.api.caller import Caller
from tests.config.alert_cases import CASES, Case
from tests.given.builders import make_contact, make_device, make_run
from tests.given.scraped import names
from tests.servers.fcm import Fcm

DASHBOARD: dict[str, Any] = json.loads(Path("docs/grafana.json").read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
RULES = yaml.safe_load(Path("docs/alerts.yml").read_text())["groups"][0]["rules"]
SERIES = re.compile(r"\bcarillon_\w+")
SELECTOR = re.compile(r"(carillon_\w+)\{([^}]*)\}")
MATCHER = re.compile(r'(\w+)(=|!=|=~|!~)"([^"]*)"')
FUNCTIONS = {
    *("sum", "max", "rate", "increase", "delta", "histogram_quantile", "absent", "by", "or"),
    *("label_replace", "and", "on"),
    "le",
}
PROMTOOL = shutil.which("promtool")
OF_COUNTERS = re.compile(r"(?:rate|increase)\((carillon_\w+)")


def expressions() -> Iterator[str]:
    for panel in PANELS:
        yield from (target["expr"] for target in panel["targets"])
    yield from (rule["expr"] for rule in RULES)


@pytest.mark.django_db(transaction=True)
def test_every_number_that_is_asked_for_is_there(project: Project, fcm: Fcm) -> None:
    make_device(make_contact(project, external_id="ada"), "live1:APA91b")
    said = {"to": {"contact": "ada"}, "content": {"title": "Hello", "body": "x"}}
    assert Caller(project).post("messages", said).status_code == 202
    tasks.send_messages()
    keep([Report(make_run(project).pk, 1, Event.OPENED, None)])
    wanted = {name for expression in expressions() for name in SERIES.findall(expression)}
    assert len(wanted) > 15
    assert wanted - names() - {f"{name}_total" for name in names()} == set()


@pytest.mark.parametrize("expression", sorted(set(expressions())))
def test_an_expression_reads(expression: str) -> None:
    assert balanced(expression)
    bare = re.sub(r'\{[^}]*\}|\[[^\]]*\]|"[^"]*"|carillon_\w+', " ", expression)
    labels = set(re.findall(r"by \(([^)]*)\)", bare))
    words = set(re.findall(r"[a-z_]+", re.sub(r"by \([^)]*\)", "", bare)))
    assert words <= FUNCTIONS
    known = {
        "project",
        "lane",
        "state",
        "verdict",
        "status",
        "reason",
        "limit",
        "event",
        "worker",
        "queue",
    }
    assert {name.strip() for each in labels for name in each.split(",")} <= {*known, "le"}
    for _, inside in SELECTOR.findall(expression):
        assert MATCHER.sub("", inside).strip(" ,") == "", "labels with a value each"
    for counter in OF_COUNTERS.findall(expression):
        assert counter.endswith(("_total", "_bucket")), "only what grows has a rate"


def balanced(expression: str) -> bool:
    left = re.sub(r'"[^"]*"', "", expression)
    while (shorter := re.sub(r"\([^()]*\)|\[[^\[\]]*\]|\{[^{}]*\}", "", left)) != left:
        left = shorter
    return not set("()[]{}") & set(left)


def test_the_dashboard_can_be_provisioned() -> None:
    assert DASHBOARD["uid"] == "carillon" and DASHBOARD["title"]
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(ids) == len(set(ids))
    assert {variable["name"] for variable in DASHBOARD["templating"]["list"]} == {
        "datasource",
        "project",
    }
    for panel in PANELS:
        assert panel["title"] and panel["targets"]
        assert panel["datasource"]["uid"] == "${datasource}"
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24


def test_every_rule_says_what_happened_and_what_to_do() -> None:
    assert len({rule["alert"] for rule in RULES}) == len(RULES) >= 12
    for rule in RULES:
        assert set(rule["annotations"]) == {"summary", "action"}


def test_each_rule_has_a_case_that_fires_and_one_that_does_not() -> None:
    alerts = {rule["alert"] for rule in RULES}
    assert {case.alert for case in CASES if case.labels is not None} == alerts
    assert {case.alert for case in CASES if case.labels is None} == alerts


@pytest.mark.skipif(PROMTOOL is None, reason="no promtool here: apt-get install prometheus")
def test_each_rule_fires_when_it_should_and_at_no_other_time(tmp_path: Path) -> None:
    """Prometheus itself reads the rules and plays the cases."""
    assert PROMTOOL
    cases = tmp_path / "cases.yml"
    cases.write_text(
        json.dumps(
            {
                "rule_files": [str(Path("docs/alerts.yml").absolute())],
                "evaluation_interval": "1m",
                "tests": [as_promtool_reads(case) for case in CASES],
            }
        )
    )
    found = subprocess.run([PROMTOOL, "test", "rules", cases], capture_output=True, text=True)
    assert found.returncode == 0, found.stdout + found.stderr


def as_promtool_reads(case: Case) -> dict[str, Any]:
    fires = [] if case.labels is None else [alert_of(case.alert, case.labels)]
    asked = {"eval_time": case.at, "alertname": case.alert, "exp_alerts": fires}
    return {
        "name": f"{case.alert}: {case.because}",
        "interval": "1m",
        "input_series": [
            {"series": name, "values": values} for name, values in case.series.items()
        ],
        "alert_rule_test": [asked],
    }


def alert_of(name: str, labels: Mapping[str, str]) -> dict[str, Any]:
    texts = next(rule["annotations"] for rule in RULES if rule["alert"] == name)
    for label, value in labels.items():
        texts = {
            key: text.replace(f"{{{{ $labels.{label} }}}}", value) for key, text in texts.items()
        }
    return {"exp_labels": labels, "exp_annotations": texts}
