"""Demo content: audiences, templates and campaigns to look at, launch and copy."""

from __future__ import annotations

from typing import Any

from campaigns.audiences.audience import Audience
from campaigns.planning.campaign import Campaign
from campaigns.texts.template import Template
from notifications.people.project import Project

AUDIENCES = {
    "Everyone": {"all": []},
    "Pro and Plus on a phone": {
        "all": [
            {"field": "attributes.plan", "op": "in", "value": ["pro", "plus"]},
            {"field": "platform", "op": "in", "value": ["android", "ios"]},
        ]
    },
    "Runners in Korea and Japan": {
        "all": [
            {"field": "attributes.interests", "op": "has", "value": "running"},
            {"field": "timezone", "op": "in", "value": ["Asia/Seoul", "Asia/Tokyo"]},
        ]
    },
    "No order for 90 days": {
        "not": {"field": "attributes.last_order_at", "op": "within_last", "value": "P90D"}
    },
}
TEMPLATES: dict[str, dict[str, Any]] = {
    "Autumn run": {
        "title": "{{ first_name | default: 'Hello' }}, the autumn run is open",
        "body": "See you in {{ city }}! You have {{ points }} points: members on {{ plan }} "
        "start first.",
        "link": "https://example.com/autumn-run",
        "data": {"screen": "event", "event": "autumn-run"},
        "locales": {
            "ko": {
                "title": "{{ first_name | default: '안녕하세요' }}님, 가을 러닝이 열렸어요",
                "body": "{{ city }}에서 만나요! {{ points }} 포인트가 있어요.",
            },
            "ja": {
                "title": "{{ first_name | default: 'こんにちは' }}さん、秋のランが始まりました",
                "body": "{{ city }}で会いましょう！ポイントは{{ points }}です。",
            },
            "de": {
                "title": "{{ first_name | default: 'Hallo' }}, der Herbstlauf ist offen",
                "body": "Wir sehen uns in {{ city }}! Du hast {{ points }} Punkte.",
            },
        },
    },
    "We miss you": {
        "title": "It has been a while{% if first_name %}, {{ first_name }}{% endif %}",
        "body": "Your {{ points }} points are still here. Have a look at what is new.",
        "link": "https://example.com/new",
    },
}
CAMPAIGNS = {
    "Autumn run: everyone": ("Everyone", "Autumn run", None),
    "Autumn run: runners first": ("Runners in Korea and Japan", "Autumn run", None),
    "We miss you (gently, 200 a second)": ("No order for 90 days", "We miss you", 200),
}


def make(project: Project) -> None:
    """Create what is missing: a second `manage.py demo` adds people, but no copies of these."""
    for name, rules in AUDIENCES.items():
        Audience.objects.get_or_create(project=project, name=name, defaults={"rules": rules})
    for name, texts in TEMPLATES.items():
        Template.objects.get_or_create(project=project, name=name, defaults=texts)
    if Campaign.objects.filter(project=project).exists():
        return
    for name, (audience, template, rate) in reversed(CAMPAIGNS.items()):
        Campaign.objects.create(
            project=project,
            name=name,
            audience=Audience.objects.get(project=project, name=audience),
            template=Template.objects.get(project=project, name=template),
            rate_per_second=rate,
            timezone=project.timezone,
        )
