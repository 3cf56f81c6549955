"""The schema and its page: complete, without warnings, and without the internet."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

import hypothesis
import jsonschema
import pytest
import yaml
from django.conf import settings
from django.core.management import call_command
from django.test import Client
from django.urls import URLPattern
from hypothesis import strategies as st

import campaigns.api.urls
import notifications.api.urls
from notifications.api.base import clients
from notifications.people.project import Project
from tests.api import promised
from tests.api.caller import Caller
from tests.api.own_app import app_of
from tests.given.builders import make_audience, make_campaign, make_contact, make_template
from tests.given.runs import opened_by_some

Schema = dict[str, Any]
WRITTEN = {
    *("ContactRequest", "AudienceRequest", "TemplateRequest", "CampaignRequest"),
    *("CategoryRequest", "EventRequest", "SuppressRequest"),
}


@pytest.fixture
def schema(client: Client) -> Schema:
    found: Schema = json.loads(client.get("/api/schema/", {"format": "json"}).content)
    return found


def operations(schema: Schema) -> Iterator[tuple[str, Schema]]:
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path.removeprefix('/api/v1/')}", operation


def test_the_schema_is_generated_without_a_warning(tmp_path: Path) -> None:
    file = tmp_path / "schema.yml"
    call_command("spectacular", "--validate", "--fail-on-warn", file=str(file))
    schema = yaml.load(file.read_text(), yaml.CSafeLoader)
    assert schema["components"]["securitySchemes"]["apiKey"]["scheme"] == "bearer"


def test_every_address_of_the_api_is_in_the_schema(client: Client) -> None:
    schema = yaml.load(client.get("/api/schema/").content, yaml.CSafeLoader)
    patterns: list[URLPattern] = [
        *notifications.api.urls.urlpatterns,
        *campaigns.api.urls.urlpatterns,
    ]
    addresses = {re.sub(r"<\w+:(\w+)>", r"{\1}", str(p.pattern)) for p in patterns}
    described = {path.removeprefix("/api/v1/").replace("{id}", "{pk}") for path in schema["paths"]}
    assert described == addresses


def test_the_schema_names_the_headers_and_fields_scripts_rely_on(schema: Schema) -> None:
    launch = schema["paths"]["/api/v1/campaigns/{id}/launch"]["post"]
    assert "Idempotency-Key" in [parameter["name"] for parameter in launch["parameters"]]
    assert "202" in launch["responses"]


def test_the_schema_says_of_every_post_that_does_something_that_it_may_have_a_key(
    schema: Schema,
) -> None:
    posts = {path: verbs["post"] for path, verbs in schema["paths"].items() if "post" in verbs}
    keyless = {
        path.removeprefix("/api/v1/")
        for path, post in posts.items()
        if "Idempotency-Key" not in [one["name"] for one in post.get("parameters", [])]
    }
    they_only_ask = {"audiences/estimate", "templates/{id}/preview"}
    # What a person's app hears is not kept for the next, nor a token for anybody.
    marks = {
        f"me/inbox/{place}{mark}"
        for place in ("", "{id}/")
        for mark in ("seen", "read", "archived")
    }
    token = "contacts/{external_id}/inbox-token"
    told_once = {"me/devices", "me/inbox/ticket", token, "receipts"}
    assert keyless == they_only_ask | told_once | marks


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


def test_every_operation_and_every_shape_is_described_in_its_own_words(schema: Schema) -> None:
    said = [operation.get("description", "") for _, operation in operations(schema)]
    shapes = schema["components"]["schemas"]
    said += [
        shapes[name].get("description", "")
        for name in shapes
        if not name.endswith(("Page", "NullEnum"))
    ]
    assert all(said)
    assert not any("misspelt" in words or "config/" in words for words in said)


@pytest.mark.parametrize(
    ("operation", "statuses"),
    [
        ("GET runs", "200 400 401 403 429 503"),
        ("GET contacts/{external_id}", "200 304 400 401 403 404 429 503"),
        ("PUT contacts/{external_id}", "200 201 400 401 403 408 411 412 413 415 429 503"),
        ("POST contacts/bulk", "200 400 401 403 408 409 411 413 415 422 429 503"),
        ("DELETE devices/{address}", "204 400 401 403 404 429 503"),
        (
            "POST contacts/{external_id}/inbox-token",
            "200 400 401 403 404 408 409 411 413 415 429 503",
        ),
        ("POST me/devices", "200 400 401 403 404 408 409 411 413 415 429 503"),
        ("DELETE me/devices/{address}", "204 400 401 403 404 429 503"),
        ("GET me/preferences", "200 400 401 403 404 429 503"),
        ("GET me/inbox/stream", "200 400 401 403 404 421 429 503"),
        ("POST receipts", "200 400 408 413 421 429 503"),
        ("POST audiences", "201 400 401 403 408 409 411 413 415 422 429 503"),
        ("PATCH audiences/{id}", "200 400 401 403 404 408 409 411 412 413 415 429 503"),
        ("DELETE templates/{id}", "204 400 401 403 404 409 412 429 503"),
        ("GET campaigns/{id}/check", "200 400 401 403 404 429 503"),
        ("POST campaigns/{id}/launch", "202 400 401 403 404 408 409 411 413 415 422 429 503"),
        ("POST campaigns/{id}/stop", "200 400 401 403 404 408 409 411 413 415 422 429 503"),
        ("POST campaigns/{id}/pause", "200 400 401 403 404 408 409 411 413 415 422 429 503"),
        ("POST runs/{id}/pause", "200 400 401 403 404 408 409 411 413 415 422 429 503"),
    ],
)
def test_every_answer_of_an_operation_is_foretold(
    schema: Schema, operation: str, statuses: str
) -> None:
    assert sorted(dict(operations(schema))[operation]["responses"]) == statuses.split()


def test_every_operation_has_a_summary_of_one_sentence(schema: Schema) -> None:
    for name, operation in operations(schema):
        summary = operation["summary"]
        assert 8 < len(summary) <= 120 and "\n" not in summary, name
        assert operation["description"].replace("\n", " ").startswith(summary), name


def test_no_two_constants_of_a_client_have_one_name(schema: Schema) -> None:
    """Go has one space for the values of all enumerations."""
    names = [
        constant
        for name, shape in schema["components"]["schemas"].items()
        if "enum" in shape and name != "NullEnum"
        for constant in shape["x-enum-varnames"]
    ]
    assert {"AutomationStatePaused", "AlertKindPaused"} <= set(names)
    assert len(names) == len(set(names)) and all(map(str.isidentifier, names))
    shapes = schema["components"]["schemas"].values()
    assert all(
        len(one["enum"]) == len(one["x-enum-varnames"])
        for one in shapes
        if "x-enum-varnames" in one
    )


def test_what_may_be_null_has_a_type(schema: Schema) -> None:
    """In OpenAPI 3.0 `nullable` means nothing without one."""
    text = json.dumps(schema)
    found = [json.loads(each) for each in re.findall(r"\{[^{}]*\"nullable\": true[^{}]*\}", text)]
    assert len(found) > 50 and all("type" in one for one in found)
    run = schema["components"]["schemas"]["Run"]["properties"]
    assert (run["cause"]["type"], run["pace"]["type"]) == ("object", "object")
    decision = schema["components"]["schemas"]["FirstPart"]["properties"]["decision"]
    assert (decision["type"], decision["nullable"]) == ("string", True)


def test_a_shape_says_itself_whether_it_may_be_null(schema: Schema) -> None:
    """openapi-python-client reads the shape alone, oapi-codegen also what stands beside it."""
    shapes = schema["components"]["schemas"]
    beside = [each for each in clients.within(schema) if "allOf" in each]
    told = {id(each["allOf"][0]): each.get("nullable", False) for each in beside}
    used = [each for each in clients.within(schema) if "$ref" in each]
    for each in used:
        name = each["$ref"].rpartition("/")[2]
        is_null = shapes[name].get("nullable", False)
        assert is_null == told.get(id(each), False), name
        assert not is_null or shapes[name]["title"] == name
    assert sum(told.values()) > 20
    run, breakdown = (shapes[name]["properties"] for name in ("Run", "Breakdown"))
    assert run["cause"]["allOf"] == [{"$ref": "#/components/schemas/Cause"}]
    assert breakdown["others"]["allOf"] == [{"$ref": "#/components/schemas/KindOrNull"}]
    too_late = shapes["Forecast"]["properties"]["too_late"]
    assert too_late == {"$ref": "#/components/schemas/ForecastTooLate"}


@pytest.mark.parametrize("address", ["receipts", "me/inbox/stream"])
def test_what_the_feed_answers_is_called_at_its_own_address(schema: Schema, address: str) -> None:
    (operation,) = schema["paths"][f"/api/v1/{address}"].values()
    assert [server["url"] for server in operation["servers"]] == [settings.PHONES_URL]
    web = [server["url"] for server in schema["servers"]]
    assert web == [settings.PUBLIC_URL, "/"]
    elsewhere = [name for name, one in operations(schema) if "servers" in one]
    assert len(elsewhere) == 2


def test_only_receipts_need_no_key(schema: Schema) -> None:
    assert [name for name, one in operations(schema) if not one["security"]] == ["POST receipts"]


def parameters(schema: Schema) -> Iterator[tuple[str, Schema]]:
    for name, operation in operations(schema):
        yield from ((name, one) for one in operation.get("parameters", ()))


def test_a_text_that_is_asked_for_says_what_it_may_hold(schema: Schema) -> None:
    found = 0
    for name, parameter in parameters(schema):
        shape = parameter["schema"]
        if shape.get("type") == "string" and not {"enum", "format"} & shape.keys():
            assert shape["minLength"] == 1, (name, parameter["name"])
            if parameter["in"] != "path":
                assert shape["maxLength"] and re.compile(shape["pattern"])
                found += 1
    assert found > 60


@pytest.mark.parametrize("name", ["ToRequest", "TestAskedRequest", "CampaignTestAskedRequest"])
def test_a_person_that_a_body_names_has_an_id_of_at_most_200_characters(
    schema: Schema, name: str
) -> None:
    contact = schema["components"]["schemas"][name]["properties"]["contact"]
    assert (contact["minLength"], contact["maxLength"]) == (1, 200)
    assert not re.search(contact["pattern"], "a\nb") and contact["description"]


# Whether there is such a person, list, page or country, no schema can say.
ONLY_WE_KNOW = {"cursor", "contact", "country", "part", "attributes", "ticket"}


@pytest.mark.parametrize("path", ["contacts", "suppressions", "messages", "runs", "holidays"])
@hypothesis.settings(
    max_examples=10, deadline=None, suppress_health_check=[*hypothesis.HealthCheck]
)
@hypothesis.given(data=st.data())
def test_a_text_that_the_schema_allows_is_not_refused(
    alice: Caller, path: str, data: st.DataObject
) -> None:
    operation = promised.operation("GET", f"/api/v1/{path}") or {}
    for parameter in operation["parameters"]:
        name, shape = parameter["name"], parameter["schema"]
        if parameter["in"] == "query" and "maxLength" in shape and name not in ONLY_WE_KNOW:
            known = {"country": "KR"} if path == "holidays" else {}
            asked = urlencode({**known, name: data.draw(allowed_by(shape))})
            assert alice.get(f"{path}?{asked}").status_code == 200, asked


@hypothesis.settings(
    max_examples=25, deadline=None, suppress_health_check=[*hypothesis.HealthCheck]
)
@hypothesis.given(data=st.data())
def test_a_header_that_the_schema_allows_is_not_refused(
    alice: Caller, ours: Project, data: st.DataObject
) -> None:
    audience = f"audiences/{make_audience(ours).pk}"
    got, put = (promised.operation(method, f"/api/v1/{audience}") for method in ("GET", "PUT"))
    posted = promised.operation("POST", "/api/v1/lists")
    assert got and put and posted
    tag = {"If-None-Match": data.draw(allowed_by(shape_of(got, "If-None-Match")))}
    assert alice.get(audience, **tag).status_code in (200, 304)
    tag = {"If-Match": data.draw(allowed_by(shape_of(put, "If-Match")))}
    body = {"name": f"Gold {uuid4()}", "rules": {"all": []}}
    assert alice.put(audience, body, **tag).status_code in (200, 412)
    key = {"Idempotency-Key": data.draw(allowed_by(shape_of(posted, "Idempotency-Key")))}
    reply = alice.post("lists", {"name": f"List {uuid4()}"}, **key)
    assert reply.status_code in (201, 422)


def shape_of(operation: Schema, name: str) -> Schema:
    (found,) = [one["schema"] for one in operation["parameters"] if one["name"] == name]
    return dict(found)


def allowed_by(shape: Schema) -> st.SearchStrategy[str]:
    """With `$` as others read it, who know no line break before the end."""
    pattern = re.compile(shape["pattern"].removesuffix("$") + r"\Z")
    texts = st.from_regex(pattern, fullmatch=True)
    return texts.filter(lambda text: len(text) <= shape["maxLength"] and storable(text))


def storable(text: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


def test_every_refusal_is_a_problem(schema: Schema) -> None:
    for name, operation in operations(schema):
        for status, answer in operation["responses"].items():
            if status >= "400":
                body = answer["content"]["application/problem+json"]["schema"]
                assert body == {"$ref": "#/components/schemas/Problem"}, (name, status)
                assert answer["description"]


def test_a_put_has_a_body(schema: Schema) -> None:
    puts = [methods["put"] for methods in schema["paths"].values() if "put" in methods]
    assert puts and all(put["requestBody"]["required"] for put in puts)


def test_what_is_only_read_is_nothing_a_program_must_write(schema: Schema) -> None:
    """A generated client would ask for it: who creates something would make up its id."""
    shapes = schema["components"]["schemas"]
    for name, shape in shapes.items():
        if name.endswith("Request"):
            fields = shape["properties"]
            # As it came with the message, as an app knows a button, and as it calls an event.
            named = name in ("ReceiptRequest", "ButtonRequest", "EventRequest")
            told = {"id"} if named else set()
            assert not ({"id", "created_at", "updated_at"} & set(fields)) - told, name
            assert not any(field.get("readOnly") for field in fields.values()), name
    needed = {name: set(shapes[name]["required"]) for name in WRITTEN}
    assert needed == {
        "ContactRequest": {"external_id"},
        "AudienceRequest": {"name"},
        "TemplateRequest": {"name", "title", "body"},
        "CampaignRequest": {"name", "audience", "template"},
        "CategoryRequest": {"name", "slug"},
        "EventRequest": {"contact", "name"},
        "SuppressRequest": {"external_ids"},
    }
    assert shapes["Audience"]["properties"]["id"]["readOnly"]


def test_what_is_always_shown_need_not_be_looked_for(schema: Schema) -> None:
    shapes = schema["components"]["schemas"]
    lacking = {
        name: set(shape["properties"]) - set(shape.get("required", []))
        for name, shape in shapes.items()
        if "properties" in shape and not name.endswith("Request")
    }
    inner = {"all", "any", "not", "field", "op", "value"}
    assert {name: fields for name, fields in lacking.items() if fields} == {
        "Audience": {"rules", "broken"},
        "Button": {"link"},
        "Device": {"token", "fid"},
        "ExplainedRules": {*inner, "seen"},
        "ExplainedRulesOrNull": {*inner, "seen"},
        "List": {"people"},
        "Language": {"title", "body", "image", "link", "buttons", "data"},
        "SnippetLanguage": {"text"},
        "Problem": {"verbs", "run", "run_url", "reason"},
        "Registration": {"token", "fid"},
        "Rules": inner,
        "Schedule": {
            *("at", "cron", "days_off", "every", "on_days", "repeat", "until", "weekdays"),
            *("best_hour", "holiday_names", "local_time", "passed", "zoneless"),
        },
    }


def test_every_body_has_a_name_and_fields(schema: Schema) -> None:
    """A client is generated with a class for it, not with a bare dictionary."""
    shapes = schema["components"]["schemas"]
    for name, operation in operations(schema):
        told = [operation["requestBody"]] if "requestBody" in operation else []
        told += [answer for answer in operation["responses"].values() if "content" in answer]
        for content in (part["content"] for part in told):
            for kind, body in content.items():
                if kind not in ("text/csv", "application/x-xliff+xml", "text/event-stream"):
                    assert shapes[body["schema"]["$ref"].rpartition("/")[2]]["properties"], name


def test_what_has_few_values_is_an_enumeration_with_a_name(schema: Schema) -> None:
    shapes = schema["components"]["schemas"]
    assert {name for name, shape in shapes.items() if "enum" in shape} == {
        "AlertKind", "AudienceKind", "AutomationState", "CategoryKind",
        "CategoryCaps", "CategoryQuietHours", "CauseCode",
        "DeliveryStatus",
        "DisabledWhy", "DoubtCode", "FirstPartBound", "FirstPartDecision", "FirstPartPhase",
        "FunnelStep", "GoalAfter",
        "MessageDeviceStatus", "MessagePriority", "MessageState", "NoWinner", "NullEnum",
        "OnDays", "OnUnknown", "Operator", "Passed", "Precedence",
        "PaceLimit", "Platform", "Reason", "ReceiptEvent", "Repeat", "ReportKind",
        "ReportLanguage", "ReportState", "ReportTrouble", "ReportVia", "RunState", "RunVerb",
        "ScheduleKind", "KeptOut", "TestGoesTo", "TestStatus", "TextCheckCode", "TextCheckLevel",
        "TextCheckStaleWhy", "TextCheckState", "TextsFormat",
        "VariantAnswer", "VariantLetter", "VariantMetric", "VariantName", "Verdict", "Weekday",
        "WhyEnding",
        "WinnerBy", "Zoneless",
    }  # fmt: skip
    listed = schema["paths"]["/api/v1/runs/{id}/deliveries"]["get"]["parameters"]
    asked = {parameter["name"]: parameter["schema"] for parameter in listed}
    # What a row shows is what a filter takes: a client would have two names for it otherwise.
    assert asked["status"] == {"$ref": "#/components/schemas/DeliveryStatus"}


def test_every_example_can_be_sent_as_it_stands(
    schema: Schema, alice: Caller, ours: Project
) -> None:
    sent = 0
    run = opened_by_some(ours)
    make_contact(ours, external_id="ada", tester=True)
    make_contact(ours, external_id="sora")
    for name, operation in operations(schema):
        body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
        for example in body.get("examples", {}).values():
            value = example["value"]
            if "audience" in value:  # those of the example are somebody else's
                value |= {"audience": make_audience(ours).pk}
            if "template" in value:
                value |= {"template": make_template(ours).pk}
            if "to" in value and "via" in value:  # no name is resolved in a test
                value |= {"to": "https://93.184.216.34/hooks"}
            method, _, path = name.partition(" ")
            row: Any = make_audience(ours, kind="list", rules={})
            row = run if path.startswith("runs/") else row
            row = make_template(ours) if path.startswith("templates/{id}") else row
            row = make_campaign(ours) if path.startswith("campaigns/{id}") else row
            path = path.replace("{id}", str(row.pk))
            path = path.replace("{external_id}", "ada")
            if path.startswith("me/"):
                reply = app_of(ours, "ada")(method, path.removeprefix("me/"), value)
            else:
                reply = alice(method, path, value)
            assert reply.status_code in (200, 201, 202), name
            sent += 1
    others = {"devices", "a list", "who is on it", "who is not", "a token", "a message"}
    others |= {"one to many", "one to somebody new", "an automation"}
    others |= {"a list of a run", "a correction", "an endpoint", "a snippet", "translations"}
    others |= {"a test to testers", "a test to one", "a test of a campaign", "a text check"}
    others |= {"a rehearsal of some", "a rehearsal of everybody", "a load"}
    marks = {"all seen", "all read", "all archived"}
    own = {"one's own device", "one's own preferences"}
    assert sent == len(WRITTEN) + len(others) + len(own) + len(marks)


SHOWN_BY_EXAMPLE = {
    "GET alerts/{id} 200",
    "GET categories 200", "POST categories 201", "GET suppressions 200", "POST suppressions 200",
    "POST lists 201", "POST lists/{id}/members 200", "DELETE lists/{id}/members 200",
    "POST events 200", "GET deliveries 200", "GET runs/{id}/deliveries 200", "GET export 200",
    "POST devices 200", "POST contacts/{external_id}/inbox-token 200", "GET me/inbox 200",
    "POST me/inbox/ticket 200",
}  # fmt: skip


def test_every_example_is_what_its_own_schema_says() -> None:
    """As OpenAPI 3.1, whose schemas are JSON Schema."""
    schema, shown = promised.schema(), set()
    for name, operation in operations(schema):
        told = {"body": operation.get("requestBody", {}), **operation["responses"]}
        for status, part in told.items():
            for content in part.get("content", {}).values():
                whole = {"components": schema["components"], **content["schema"]}
                for example in content.get("examples", {}).values():
                    jsonschema.Draft202012Validator(whole).validate(example["value"])
                    shown.add(f"{name} {status}")
    assert {one for one in shown if not one.endswith("body")} == SHOWN_BY_EXAMPLE


def test_what_refuses_unknown_fields_says_so(schema: Schema) -> None:
    """People and devices take what GET showed of them, beside what is written."""
    shapes = schema["components"]["schemas"]
    strict = {name for name in shapes if shapes[name].get("additionalProperties") is False}
    bodies = {name for name in shapes if name.endswith("Request") and name not in strict}
    assert bodies - {
        "BrokenRequest",
        "LanguageRequest",
        "RulesRequest",
        "SnippetLanguageRequest",
    } == {
        *("ContactRequest", "DeviceRequest", "RegistrationRequest"),
        *("PatchedPersonRequest", "PersonRequest", "PatchedPersonsAnswersGivenRequest"),
    }
    assert {name for name in strict if not name.endswith("Request")} == set()


def test_texts_say_how_long_they_may_be(schema: Schema) -> None:
    shapes = schema["components"]["schemas"]
    named = [
        ("CategoryRequest", "name", 1, 100), ("CategoryRequest", "slug", 1, 50),
        ("ListRequest", "name", 1, 100), ("ContactRequest", "external_id", 1, 200),
        ("ContactRequest", "locale", None, 35), ("DeviceRequest", "token", 1, 2_048),
        ("EventRequest", "name", 1, 64), ("EventRequest", "contact", 1, 200),
        ("SuppressRequest", "reason", None, 200), ("RegistrationRequest", "contact", 1, 200),
    ]  # fmt: skip
    for shape, name, least, most in named:
        field = shapes[shape]["properties"][name]
        assert (field.get("minLength"), field.get("maxLength")) == (least, most), (shape, name)


def test_the_example_of_an_export_has_the_sections_of_a_real_one(
    schema: Schema, alice: Caller, ours: Project
) -> None:
    make_contact(ours, external_id="ada")
    real = json.loads(alice.get("export?contact=ada").getvalue())
    told = schema["paths"]["/api/v1/export"]["get"]["responses"]["200"]["content"]
    (example,) = told["application/json"]["examples"].values()
    assert {name: sorted(part) for name, part in real.items() if isinstance(part, dict)} == {
        name: sorted(part) for name, part in example["value"].items() if isinstance(part, dict)
    }
    assert set(example["value"]) == set(real)
