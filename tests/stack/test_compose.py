from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from config.stack import CHECKOUT

TEXT = (CHECKOUT / "docker-compose.yml").read_text()


@pytest.fixture
def compose() -> dict[str, Any]:
    return dict(yaml.safe_load(TEXT))


def test_the_file_is_valid_by_the_compose_specification(compose: dict[str, Any]) -> None:
    schema = json.loads(Path(__file__).with_name("compose-spec.json").read_text())
    jsonschema.Draft7Validator(schema).validate(compose)


def test_every_service_that_stays_has_a_health_check(compose: dict[str, Any]) -> None:
    without = {
        name for name, service in compose["services"].items() if "healthcheck" not in service
    }
    assert without == {"migrate"}


def test_workers_have_time_to_finish_what_they_hold(compose: dict[str, Any]) -> None:
    for name in ("worker", "urgent", "control"):
        assert compose["services"][name]["stop_grace_period"] == "150s"


def test_the_worker_can_be_scaled(compose: dict[str, Any]) -> None:
    assert not {"container_name", "ports", "hostname"} & compose["services"]["worker"].keys()


def test_all_processes_together_are_said_apart_from_those_of_one_worker(
    compose: dict[str, Any],
) -> None:
    """Or each of four workers would take the share of a quarter as many."""
    service = compose["services"]["worker"]
    assert service["command"][service["command"].index("-c") + 1] == "${PROCESSES:-4}"
    assert service["environment"]["WORKERS"] == "${WORKERS:-${PROCESSES:-4}}"


def test_the_way_to_google_is_told_to_who_has_keys_and_to_nobody_else(
    compose: dict[str, Any],
) -> None:
    """A proxy's password may stand in it."""
    services = compose["services"].items()
    told = {name for name, each in services if "HTTPS_PROXY" in each.get("environment", {})}
    assert told == {name for name, each in services if "credentials_key" in each["secrets"]}
    web = compose["services"]["web"]["environment"]
    assert {name: web[name] for name in ("HTTPS_PROXY", "NO_PROXY", "TRANSPORT")} == {
        "HTTPS_PROXY": "${HTTPS_PROXY:-}",
        "NO_PROXY": "${NO_PROXY:-}",
        "TRANSPORT": "${TRANSPORT:-}",
    }


def test_the_image_copies_every_package_the_settings_name() -> None:
    copied = set(re.findall(r"^COPY (\w+) ", (CHECKOUT / "Dockerfile").read_text(), re.MULTILINE))
    packages = {
        path.parent.name for path in CHECKOUT.glob("*/__init__.py") if path.parent.name != "bench"
    }
    assert packages - copied <= {"emulator", "tests"}
