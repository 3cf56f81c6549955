"""The schema and its page: complete, without warnings, and without the internet."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from django.core.management import call_command
from django.test import Client
from django.urls import URLPattern

import campaigns.api.urls
import notifications.api.urls


def test_the_schema_is_generated_without_a_warning(tmp_path: Path) -> None:
    file = tmp_path / "schema.yml"
    call_command("spectacular", "--validate", "--fail-on-warn", file=str(file))
    schema = yaml.safe_load(file.read_text())
    assert schema["components"]["securitySchemes"]["apiKey"]["scheme"] == "bearer"


def test_every_address_of_the_api_is_in_the_schema(client: Client) -> None:
    schema = yaml.safe_load(client.get("/api/schema/").content)
    patterns: list[URLPattern] = [
        *notifications.api.urls.urlpatterns,
        *campaigns.api.urls.urlpatterns,
    ]
    addresses = {re.sub(r"<\w+:(\w+)>", r"{\1}", str(p.pattern)) for p in patterns}
    described = {path.removeprefix("/api/v1/").replace("{id}", "{pk}") for path in schema["paths"]}
    assert described == addresses


def test_the_schema_names_the_headers_and_fields_scripts_rely_on(client: Client) -> None:
    text = client.get("/api/schema/", {"format": "json"}).content.decode()
    launch = json.loads(text)["paths"]["/api/v1/campaigns/{id}/launch"]["post"]
    assert "Idempotency-Key" in [parameter["name"] for parameter in launch["parameters"]]
    assert "202" in launch["responses"]


def test_the_schema_says_of_every_post_that_does_something_that_it_may_have_a_key(
    client: Client,
) -> None:
    schema = yaml.safe_load(client.get("/api/schema/").content)
    posts = {path: verbs["post"] for path, verbs in schema["paths"].items() if "post" in verbs}
    keyless = {
        path.removeprefix("/api/v1/")
        for path, post in posts.items()
        if "Idempotency-Key" not in [one["name"] for one in post.get("parameters", [])]
    }
    assert keyless == {"audiences/estimate", "templates/{id}/preview"}  # they only ask


@pytest.mark.parametrize("query", ["", "?script="])
def test_the_page_loads_nothing_from_elsewhere(client: Client, query: str) -> None:
    response = client.get(f"/api/docs/{query}")
    assert response.status_code == 200
    text = response.content.decode()
    assert not re.findall(r"""(?:src|href)=["'](?:https?:)?//""", text)


def test_the_page_needs_no_inline_script(client: Client) -> None:
    response = client.get("/api/docs/")
    scripts = re.findall(r"<script[^>]*>(.*?)</script>", response.content.decode(), re.DOTALL)
    assert len(scripts) == 3
    assert not any(script.strip() for script in scripts)
    assert "script-src 'self'" in response["Content-Security-Policy"]


def test_what_the_page_loads_is_there(client: Client) -> None:
    page = client.get("/api/docs/").content.decode()
    addresses = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert len(addresses) >= 4
    for address in addresses:
        assert client.get(address).status_code == 200, address
