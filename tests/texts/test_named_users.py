"""`https://shop.example@evil.example/` looks like the shop's and is not: no text has such a one."""

from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError

from campaigns.texts.template import Template
from notifications.people.project import Project
from tests.api.caller import Caller, fields_at_fault
from tests.given.builders import make_project, make_template
from tests.texts.rendered import content, reader, rendered


@pytest.fixture
def ours(db: None) -> Project:
    return make_project()


@pytest.mark.parametrize(
    ("field", "address"),
    [
        ("image", "https://user:pw@evil.example/a.png"),
        ("image", "https://shop.example@evil.example"),
        ("image", "{% if x %}https://user@evil.example/a.png{% endif %}"),
        ("link", "https://shop.example@evil.example/"),
        ("link", " HTTPS://shop.example@evil.example/"),
        ("link", "https://{{ x }}@evil.example/"),
    ],
)
def test_an_address_with_a_user_before_its_host_is_not_saved(field: str, address: str) -> None:
    template = Template(name="t", title="x", body="y", **{field: address})
    with pytest.raises(ValidationError) as refusal:
        template.clean()
    assert refusal.value.message_dict[field] == [
        "has a user name before “@”; write https://example.com/… without it."
    ]


def test_a_program_is_told_so_by_the_field_in_each_language(ours: Project) -> None:
    bad = "https://shop.example@evil.example/"
    texts = {"name": "t", "title": "x", "body": "y", "image": bad, "locales": {"ko": {"link": bad}}}
    refused = Caller(ours).post("templates", texts)
    assert refused.status_code == 400
    assert sorted(fields_at_fault(refused)) == ["image", "locales"]
    assert "ko.link: has a user name" in refused.content.decode()
    assert not Template.objects.exists()


@pytest.mark.parametrize(
    "link",
    [
        "https://maps.example/@37.5,127.0",
        "https://shop.example?to=a@b.example",
        "https://shop.example#@me",
        "myapp://ada@offers",
        "mailto:ada@shop.example",
        'https://{{ shop | default: "a@b.example" }}/',
    ],
)
def test_an_at_sign_elsewhere_names_nobody(link: str) -> None:
    Template(name="t", title="x", body="y", link=link).clean()


def test_one_that_was_launched_before_goes_on(ours: Project) -> None:
    template = make_template(
        ours, link="https://ada@shop.example/{{ city }}", image="https://ada@shop.example/a.png"
    )
    message = rendered(content(**template.frozen()), reader(city="Seoul", first_name="Ada"))
    assert message.link == "https://ada@shop.example/Seoul"
    assert message.image == "https://ada@shop.example/a.png"
