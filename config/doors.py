"""Access rules: who may open each page and each API endpoint. The one place for both.

A page's door is its URL name, with the least role for reading and for changing. An endpoint's door
is its route, with the scope that a key needs for each method. Doors in `OF_A_PERSON` open for a
person's own app, and for no key. Doors in `OF_ANYBODY` open for every caller. What stands in no
table is closed: to all but owners on the pages, to everybody in the API. `tests/roles` tries every
door with every role, and fails when a new one is missing here.
"""

from __future__ import annotations

from dataclasses import dataclass

from campaigns.verbs import VERBS
from notifications.inbox.marking import MARKS
from notifications.staff.api_key import Scope
from notifications.staff.team import Role

VIEWER, EDITOR, SENDER, OPERATOR, OWNER = Role
LOOKING = {"GET", "HEAD", "OPTIONS"}


@dataclass(frozen=True)
class Door:
    """The least role for reading, and for changing. None: open without a log-in."""

    read: Role | None
    write: Role | None

    def least(self, method: str) -> Role | None:
        return self.read if method in LOOKING else self.write


def _page(name: str, read: Role, write: Role, **verbs: Role) -> dict[str, Door]:
    """The doors that Django's admin makes for a model, and those of the page's own verbs."""
    return {
        f"{name}_changelist": Door(read, write),
        f"{name}_change": Door(read, write),
        f"{name}_history": Door(read, read),
        f"{name}_add": Door(write, write),
        f"{name}_delete": Door(write, write),
        **{f"{name}_{verb}": Door(role, role) for verb, role in verbs.items()},
    }


EVERYBODY = Door(None, None)
LOOK = Door(VIEWER, VIEWER)  # changes nothing, even when it is a POST

PAGES: dict[str, Door] = {
    # The way in and out.
    "login": EVERYBODY,
    "logout": EVERYBODY,
    "jsi18n": EVERYBODY,
    "": LOOK,  # redirects and pages that do not exist
    "index": LOOK,
    "app_list": LOOK,
    "search": LOOK,
    "project_switch": LOOK,  # of one's own session
    "downtime": LOOK,
    "autocomplete": LOOK,
    "view_on_site": LOOK,
    "password_change": LOOK,  # one's own
    "password_change_done": LOOK,
    "second_factor": LOOK,  # one's own
    "second_factor_ask": LOOK,
    # Send.
    **_page(
        "campaigns_campaign",
        VIEWER,
        EDITOR,
        test=EDITOR,
        launch=SENDER,
        rehearse=SENDER,
        pause_series=SENDER,
        resume_series=SENDER,
        stop=SENDER,
        duplicate=EDITOR,
        tag=EDITOR,
        archive=EDITOR,
        bring_back=EDITOR,
    ),
    **_page("campaigns_audience", VIEWER, EDITOR, duplicate=EDITOR, freeze=EDITOR),
    **_page("campaigns_template", VIEWER, EDITOR, duplicate=EDITOR, test=EDITOR),
    **_page("campaigns_snippet", VIEWER, EDITOR),
    **_page("notifications_image", VIEWER, EDITOR),
    "images_offered": LOOK,
    **_page("campaigns_automation", VIEWER, EDITOR, turn_on=SENDER, pause=SENDER, archive=SENDER),
    **_page(
        "campaigns_run",
        VIEWER,
        SENDER,
        duplicate=EDITOR,
        rest=EDITOR,
        everybody_else=EDITOR,
        make_list=EDITOR,
        correct=EDITOR,
    ),
    **{verb.page: Door(verb.role, verb.role) for verb in VERBS},  # sender
    "campaigns_overview": LOOK,
    "campaigns_alerts": LOOK,
    "campaigns_alerts_of_run": LOOK,
    "campaigns_alert_one": LOOK,
    "campaigns_alert_quiet": Door(SENDER, SENDER),
    "campaigns_alert_remind": Door(SENDER, SENDER),
    "campaigns_messages": LOOK,
    "campaigns_messages_numbers": LOOK,
    "campaigns_message_one": LOOK,
    "campaigns_message_cancel": Door(SENDER, SENDER),
    # They send messages, if only to each other.
    **dict.fromkeys(
        ("demo_phones", "demo_phone_on", "demo_phone_rings", "demo_phone_write"),
        Door(SENDER, SENDER),
    ),
    "campaign_who": LOOK,
    "campaign_what": LOOK,
    "campaign_variables": LOOK,
    "campaign_text_test": Door(EDITOR, EDITOR),
    # A person who may write a text may test it: on a few people, within the limits of
    # test_sends/create.py.
    "test_shown": Door(EDITOR, EDITOR),
    "test_people": Door(EDITOR, EDITOR),
    "campaign_when": LOOK,
    "campaign_holidays": LOOK,
    "campaign_left_out": LOOK,
    "campaign_review": LOOK,
    "campaign_text_check": Door(VIEWER, EDITOR),
    "campaign_text_check_cancel": Door(EDITOR, EDITOR),
    "campaigns_calendar": LOOK,
    "campaigns_calendar_days": LOOK,
    "campaigns_calendar_file": LOOK,
    "campaigns_quota": LOOK,
    "campaigns_series_move": Door(SENDER, SENDER),
    "rehearsals_of_campaign": LOOK,
    "rehearsal_one": LOOK,
    "rehearsal_live": LOOK,
    **dict.fromkeys(
        ("rehearsal_resume", "rehearsal_cancel", "rehearsal_restore"), Door(SENDER, SENDER)
    ),
    "run_live": LOOK,
    "run_deliveries": LOOK,
    "run_course": LOOK,
    "run_chunk": Door(EDITOR, EDITOR),  # technical
    "run_breakdown": LOOK,
    "run_variants": LOOK,
    "run_compare": LOOK,
    "run_echo": LOOK,
    "run_csv": LOOK,
    "run_why": LOOK,
    "person_sent": LOOK,
    "person_messages": LOOK,
    "overview_health": LOOK,
    "overview_people": LOOK,
    "audience_count": LOOK,
    "audience_people": LOOK,
    "audience_person": LOOK,
    "audience_choices": LOOK,
    "audience_values": LOOK,
    "audience_refill": Door(EDITOR, EDITOR),
    "audience_size": LOOK,  # stores its count, and the time of it
    "automation_events": LOOK,
    "automation_review": LOOK,
    "snippet_preview": LOOK,
    "snippet_revision": Door(VIEWER, EDITOR),  # a POST brings it back
    "snippet_revisions": LOOK,
    "template_csv": LOOK,
    "template_hosts": LOOK,
    "template_languages": LOOK,
    "template_preview": LOOK,
    "template_revision": Door(VIEWER, EDITOR),  # a POST brings it back
    "template_revisions": LOOK,
    "template_translations": Door(EDITOR, EDITOR),
    "template_variables": LOOK,
    "template_xliff": LOOK,
    # Reach.
    **_page("notifications_contact", VIEWER, EDITOR, change_consent=EDITOR),
    "person_export": Door(EDITOR, EDITOR),  # exports all that is known of a person
    **_page("notifications_attribute", VIEWER, EDITOR),
    **_page("notifications_category", VIEWER, EDITOR, change_kind=EDITOR),
    **_page("notifications_suppression", VIEWER, EDITOR),
    **_page("notifications_import", VIEWER, EDITOR, start=EDITOR, stop=EDITOR, resume=EDITOR),
    "import_template": LOOK,
    "import_sample": LOOK,
    "import_begin": Door(EDITOR, EDITOR),
    "import_part": Door(EDITOR, EDITOR),
    "import_finish": Door(EDITOR, EDITOR),
    "import_cancel": Door(EDITOR, EDITOR),
    "import_columns": Door(VIEWER, EDITOR),
    "import_encoding": Door(VIEWER, EDITOR),
    "import_live": LOOK,
    "import_refused": Door(EDITOR, EDITOR),  # exports whole rows of people
    "import_list": Door(EDITOR, EDITOR),
    **_page("notifications_device", VIEWER, EDITOR, retire=EDITOR, restore=EDITOR),
    # Operate.
    "operations": Door(OPERATOR, OPERATOR),
    "operations_workers": Door(OPERATOR, OPERATOR),
    "operations_sweep": Door(OPERATOR, OPERATOR),
    "retention": Door(OPERATOR, OPERATOR),
    **_page(
        "notifications_project",
        OPERATOR,
        OPERATOR,
        set_credentials=OPERATOR,
        check_key=OPERATOR,
        use_machine=OPERATOR,
        new_inbox_secret=OPERATOR,
        end_inbox_secret=OPERATOR,
        fetch_figures=OPERATOR,
        ask_health=OPERATOR,
    ),
    "project_unseen": Door(OPERATOR, OPERATOR),
    **_page(
        "notifications_endpoint",
        OPERATOR,
        OPERATOR,
        test=OPERATOR,
        replay_failed=OPERATOR,
        new_secret=OPERATOR,
        switch_off=OPERATOR,
        switch_on=OPERATOR,
    ),
    "endpoint_log": Door(OPERATOR, OPERATOR),
    "endpoint_replay": Door(OPERATOR, OPERATOR),
    **_page("notifications_apikey", OPERATOR, OPERATOR, revoke=OPERATOR),
    **_page("notifications_auditentry", OPERATOR, OWNER),
    # The team.
    **_page("auth_user", OWNER, OWNER, password_change=OWNER, forget_factor=OWNER),
}

_PEOPLE = {"POST": Scope.CONTACTS}
_ONE = ("GET", "PUT", "PATCH", "DELETE")

ENDPOINTS: dict[str, dict[str, Scope]] = {
    "contacts": {"GET": Scope.CONTACTS},
    "contacts/bulk": _PEOPLE,
    "contacts/<anything:external_id>/inbox-token": {
        "POST": Scope.CONTACTS,
        **dict.fromkeys(_ONE, Scope.CONTACTS),  # of a person whose id ends in /inbox-token
    },
    "contacts/<anything:external_id>": dict.fromkeys(_ONE, Scope.CONTACTS),
    "categories": dict.fromkeys(("GET", "POST"), Scope.CONTACTS),
    "categories/<int:pk>": dict.fromkeys(_ONE, Scope.CONTACTS),
    "suppressions": dict.fromkeys(("GET", "POST"), Scope.CONTACTS),
    "suppressions/<path:external_id>": {"DELETE": Scope.CONTACTS},
    "devices": _PEOPLE,
    "devices/<path:address>": {"DELETE": Scope.CONTACTS},
    "export": {"GET": Scope.CONTACTS},
    "events": _PEOPLE,
    "inbox": {"GET": Scope.MESSAGES},
    "inbox/counts": {"GET": Scope.MESSAGES},
    "alerts": {"GET": Scope.RUNS},
    "alerts/<int:pk>": {"GET": Scope.RUNS},
    "alerts/<int:pk>/acknowledge": {"POST": Scope.LAUNCH},
    "audiences": dict.fromkeys(("GET", "POST"), Scope.AUDIENCES),
    "audiences/estimate": {"POST": Scope.AUDIENCES},
    "audiences/<int:pk>": dict.fromkeys(_ONE, Scope.AUDIENCES),
    "audiences/<int:pk>/explain": {"GET": Scope.AUDIENCES},
    "automations": dict.fromkeys(("GET", "POST"), Scope.RUNS),
    "automations/<int:pk>": dict.fromkeys(_ONE, Scope.RUNS),
    "automations/<int:pk>/on": {"POST": Scope.LAUNCH},
    "automations/<int:pk>/pause": {"POST": Scope.LAUNCH},
    "automations/<int:pk>/archive": {"POST": Scope.LAUNCH},
    "backpressure": dict.fromkeys(("GET", "POST"), Scope.RUNS),
    "deliveries": {"GET": Scope.RUNS},
    "holidays": {"GET": Scope.RUNS},
    "quota": {"GET": Scope.RUNS},
    "lists": dict.fromkeys(("GET", "POST"), Scope.AUDIENCES),
    "lists/<int:pk>": dict.fromkeys(("GET", "DELETE"), Scope.AUDIENCES),
    "lists/<int:pk>/members": dict.fromkeys(("POST", "DELETE"), Scope.AUDIENCES),
    "snippets": dict.fromkeys(("GET", "POST"), Scope.TEMPLATES),
    "snippets/<int:pk>": dict.fromkeys(_ONE, Scope.TEMPLATES),
    "snippets/<int:pk>/used-by": {"GET": Scope.TEMPLATES},
    "templates": dict.fromkeys(("GET", "POST"), Scope.TEMPLATES),
    "templates/<int:pk>": dict.fromkeys(_ONE, Scope.TEMPLATES),
    "templates/<int:pk>/preview": {"POST": Scope.TEMPLATES},
    # They ring a phone, so they count as messages.
    "templates/<int:pk>/test": {"POST": Scope.MESSAGES},
    "campaigns/<int:pk>/test": {"POST": Scope.MESSAGES},
    "tests/<int:pk>": {"GET": Scope.MESSAGES},
    "templates/<int:pk>/texts.csv": {"GET": Scope.TEMPLATES},
    "templates/<int:pk>/texts.xliff": {"GET": Scope.TEMPLATES},
    "templates/<int:pk>/translations": {"POST": Scope.TEMPLATES},
    "campaigns": dict.fromkeys(("GET", "POST"), Scope.RUNS),
    "campaigns/<int:pk>": dict.fromkeys(_ONE, Scope.RUNS),
    "campaigns/<int:pk>/check": {"GET": Scope.RUNS},
    "campaigns/<int:pk>/launch": {"POST": Scope.LAUNCH},
    "campaigns/<int:pk>/rehearse": {"POST": Scope.LAUNCH},
    "campaigns/<int:pk>/rehearsals": {"GET": Scope.RUNS},
    "rehearsals/<int:pk>": {"GET": Scope.RUNS},
    "rehearsals/<int:pk>/resume": {"POST": Scope.LAUNCH},
    "rehearsals/<int:pk>/cancel": {"POST": Scope.LAUNCH},
    "rehearsals/<int:pk>/restore-devices": {"POST": Scope.LAUNCH},
    "campaigns/<int:pk>/stop": {"POST": Scope.LAUNCH},
    "campaigns/<int:pk>/pause": {"POST": Scope.LAUNCH},
    "campaigns/<int:pk>/resume": {"POST": Scope.LAUNCH},
    "campaigns/<int:pk>/move": {"POST": Scope.LAUNCH},
    "campaigns/<int:pk>/text-check": dict.fromkeys(("GET", "POST"), Scope.RUNS),
    "campaigns/<int:pk>/text-check/cancel": {"POST": Scope.RUNS},
    "messages": dict.fromkeys(("GET", "POST"), Scope.MESSAGES),
    "messages/bulk": {"POST": Scope.MESSAGES},
    "messages/<path:pk>/cancel": {"POST": Scope.MESSAGES},
    "messages/<path:pk>": {"GET": Scope.MESSAGES},
    "endpoints": dict.fromkeys(("GET", "POST"), Scope.REPORTS),
    "endpoints/<int:pk>": dict.fromkeys(_ONE, Scope.REPORTS),
    "endpoints/<int:pk>/deliveries": {"GET": Scope.REPORTS},
    "endpoints/<int:pk>/replay": {"POST": Scope.REPORTS},
    "endpoints/<int:pk>/secret": {"POST": Scope.REPORTS},
    "endpoints/<int:pk>/test": {"POST": Scope.REPORTS},
    "runs": {"GET": Scope.RUNS},
    "runs/<int:pk>": {"GET": Scope.RUNS},
    "runs/<int:pk>/breakdown": {"GET": Scope.RUNS},
    "runs/<int:pk>/correct": {"POST": Scope.RUNS},
    "runs/<int:pk>/list": {"POST": Scope.AUDIENCES},
    "runs/<int:pk>/funnel": {"GET": Scope.RUNS},
    "runs/<int:pk>/deliveries": {"GET": Scope.RUNS},
    "runs/<int:pk>/deliveries.csv": {"GET": Scope.RUNS},
    "runs/<int:pk>/revisions": {"GET": Scope.RUNS},
    "runs/<int:pk>/variants": {"GET": Scope.RUNS},
    "runs/<int:pk>/why": {"GET": Scope.RUNS},
    **{f"runs/<int:pk>/{verb.path}": {"POST": verb.scope} for verb in VERBS},  # launch
}
# For a person's own app: with their inbox token, and with no API key.
OF_A_PERSON: dict[str, set[str]] = {
    "me/devices": {"POST"},
    "me/devices/<path:address>": {"DELETE"},
    "me/preferences": {"GET", "HEAD", "PATCH"},
    "me/inbox": {"GET", "HEAD"},
    "me/inbox/counts": {"GET", "HEAD"},
    "me/inbox/<int:pk>": {"GET", "HEAD"},
    **{f"me/inbox/{mark}": {"POST"} for mark in MARKS},
    **{f"me/inbox/<int:pk>/{mark}": {"POST", "DELETE"} for mark in MARKS},
    "me/inbox/stream": {"GET", "HEAD"},
    "me/inbox/ticket": {"POST"},
}
# What a caller may report there is signed, so it needs no key.
OF_ANYBODY = {"receipts"}
API = "api/v1/"


def door_of(page: str | None) -> Door:
    return PAGES.get(page or "", Door(OWNER, OWNER))


def scope_of(route: str, method: str) -> Scope | None:
    """The scope that a key needs for this route and method. None: no key opens it."""
    methods = ENDPOINTS.get(route.removeprefix(API), {})
    return methods.get("GET" if method == "HEAD" else method)


def is_a_persons(route: str, method: str) -> bool:
    return method in OF_A_PERSON.get(route.removeprefix(API), set())


def is_anybodys(route: str) -> bool:
    return route.removeprefix(API) in OF_ANYBODY
