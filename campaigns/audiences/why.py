"""Why a person is in an audience, or not: the tree of rules with ticks, and the rules that decided.

For an empty audience, it finds the rule that excludes everybody.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from django.db import connection
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _

from campaigns.audiences import last_seen, selection
from campaigns.audiences.behavior import at_most
from campaigns.audiences.behavior.kinds import KINDS
from campaigns.audiences.bounds import leaves
from campaigns.audiences.resolving.settling import rules_for_sql
from campaigns.audiences.rules import field_of
from campaigns.audiences.selection import (
    compile_tree,
    drawn,
    joined,
    people_and_devices,
    value_of,
)
from campaigns.audiences.words import clause
from notifications.people.consent.suppression import suppression_of
from notifications.people.contact import Contact
from notifications.people.device import Device
from notifications.postgres.budget import TooSlow, statement_timeout
from notifications.values.moments import short
from notifications.values.plain_values import NOTHING, plainly

PLACE_SECONDS = 0.5  # the place is nice to know; the answer does not need it


@dataclass(frozen=True)
class Node:
    """One rule, or a group of rules: whether it holds, and what it found (`seen` or `told`)."""

    words: str
    holds: bool
    value: str | None = None  # the value that it compared
    history: str = ""  # what happened, in words
    inner: list[Node] = field(default_factory=list)
    otherwise: str = ""  # if the rule does not hold: what is true instead


@dataclass(frozen=True)
class Judged:
    """A device of the person: whether it matches, and whether it was not seen for too long."""

    device: Device
    fits: bool
    unseen: bool

    @property
    def selected(self) -> bool:
        return self.fits and not self.unseen


@dataclass(frozen=True)
class InOrOut:
    contact: Contact
    rules: dict[str, Any]  # the tree as `explain` gives it
    tree: Node
    because: list[Node]
    devices: list[Judged]
    suppressed: bool  # nothing is sent to them, whether they are in or not

    @property
    def is_in(self) -> bool:
        return self.tree.holds

    @property
    def selected(self) -> int:
        return sum(judged.selected for judged in self.devices)

    @property
    def unseen(self) -> bool:
        """Whether a device is left out because it was not seen for too long."""
        return any(judged.unseen for judged in self.devices)

    @property
    def whole_tree(self) -> bool:
        """Whether the tree shows more than `because`: it has several rules, or a group in it."""
        return len(self.tree.inner) > 1 or any(node.inner for node in self.tree.inner)


def verdict(contact: Contact, tree: dict[str, Any], *, frozen: bool = False) -> InOrOut:
    """Decide whether a person is in an audience, and why.

    `frozen`: the rules were settled by a run. They are not settled again, because a rule on past
    runs would then cover that run itself and those after it.
    """
    settled_rules = tree if frozen else _settle(contact, tree)
    explained = _judge(contact, settled_rules)
    return InOrOut(
        contact=contact,
        rules=_as_saved(explained),
        tree=_node(explained, contact),
        because=[_node(node, contact) for node in _deciding_rules(explained)],
        devices=_selected_devices(contact, settled_rules),
        suppressed=suppression_of(contact) is not None,
    )


def selected_devices(contact: Contact, tree: dict[str, Any]) -> list[Judged]:
    """The person's devices: which of them the rules select, and which are left out as unseen."""
    return _selected_devices(contact, _settle(contact, tree))


def _settle(contact: Contact, tree: dict[str, Any]) -> dict[str, Any]:
    return drawn(contact.project_id, rules_for_sql(contact.project_id, tree))


def _selected_devices(contact: Contact, rules: dict[str, Any]) -> list[Judged]:
    where, since = compile_tree(rules), last_seen.seen_since(contact.project_id)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT d.id, {where.sql}, NOT ({last_seen.fresh(since)}) FROM {joined(None)}"
            " WHERE c.id = %s AND d.id IS NOT NULL",
            [*where.params, contact.pk],
        )
        verdicts = {row[0]: row[1:] for row in cursor.fetchall()}
    devices = Device.objects.filter(pk__in=verdicts).order_by("-last_seen_at")
    return [Judged(device, *verdicts[device.pk]) for device in devices]


def explain(contact: Contact, tree: dict[str, Any]) -> dict[str, Any]:
    """The tree for this person: each node says whether it holds, each leaf also what it found.

    It uses the same SQL that selects people, with one device: a selected one if there is any, else
    the one seen last. So the answer cannot differ from a launch. Raises Contact.DoesNotExist if the
    person was erased meanwhile.
    """
    rules = _settle(contact, tree)
    return _as_saved(_judge(contact, rules))


def _judge(contact: Contact, rules: dict[str, Any]) -> dict[str, Any]:
    explained = _attach_verdicts(rules, iter(_evaluate(contact, rules)))
    if cut := at_most.only(explained):
        cut["seen"] = _place(contact, rules, explained, cut)
    return explained


def _place(
    contact: Contact, rules: dict[str, Any], explained: dict[str, Any], cut: dict[str, Any]
) -> str:
    other_rules = [node for node in explained.get("all", ()) if node is not cut]
    if not all(node["holds"] for node in other_rules):
        return _("not among those the other rules find")
    nth = None
    with suppress(TooSlow), statement_timeout(seconds=PLACE_SECONDS):
        nth = selection.nth(contact, rules) if cut["holds"] else None
    return at_most.describe_rank(cut, nth)


def _evaluate(contact: Contact, tree: dict[str, Any]) -> list[tuple[bool, Any]]:
    parts = [compile_tree(tree)]
    for leaf in leaves(tree):
        parts += [compile_tree(leaf), value_of(leaf)]
    columns = ", ".join(part.sql for part in parts)
    params = [param for part in parts for param in part.params]
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {columns} FROM {people_and_devices(contact.project_id)} WHERE c.id = %s"
            " ORDER BY 1 DESC, d.last_seen_at DESC NULLS LAST LIMIT 1",
            [*params, contact.pk],
        )
        row = cursor.fetchone()
    if row is None:
        raise Contact.DoesNotExist
    return list(zip(row[1::2], row[2::2], strict=True))


def _attach_verdicts(tree: dict[str, Any], verdicts: Any) -> dict[str, Any]:
    if "all" in tree or "any" in tree:
        word, combine = ("all", all) if "all" in tree else ("any", any)
        inner = [_attach_verdicts(node, verdicts) for node in tree[word]]
        return {word: inner, "holds": combine(node["holds"] for node in inner)}
    if "not" in tree:
        node = _attach_verdicts(tree["not"], verdicts)
        return {"not": node, "holds": not node["holds"]}
    holds, seen = next(verdicts)
    return {**tree, "holds": holds, "seen": seen}


def _as_saved(node: dict[str, Any]) -> dict[str, Any]:
    """The tree as its author saved it, without the keys that the server added."""
    if "not" in node:
        return {**node, "not": _as_saved(node["not"])}
    if word := next((word for word in ("all", "any") if word in node), None):
        return {**node, word: [_as_saved(inner) for inner in node[word]]}
    kind = KINDS.get(node["field"])
    if kind is None or not kind.kept:
        return node
    return {**node, "value": {k: v for k, v in node["value"].items() if k not in kind.kept}}


def _deciding_rules(node: dict[str, Any]) -> list[dict[str, Any]]:
    """The rules that decided the result: in an “all” that failed, those that failed."""
    if "not" in node:
        return [_negate(inner) for inner in _deciding_rules(node["not"])]
    word = next((word for word in ("all", "any") if word in node), None)
    if word is None:
        return [node]
    agreeing = [inner for inner in node[word] if inner["holds"] == node["holds"]]
    if word == "any" and node["holds"]:
        agreeing = agreeing[:1]  # the first is enough
    return [leaf for inner in agreeing for leaf in _deciding_rules(inner)]


def _negate(node: dict[str, Any]) -> dict[str, Any]:
    """Negate a node. “Is not pro: no” is a reason; “is pro: yes”, inside a not, is a riddle."""
    return node["not"] if "not" in node else {"not": node, "holds": not node["holds"]}


def _node(node: dict[str, Any], contact: Contact) -> Node:
    word = next((word for word in ("all", "any") if word in node), None)
    if word is not None:
        return _group(word, node, node["holds"], contact)
    if "not" not in node:
        return _leaf(node, node, contact)
    inner = node["not"]
    word = next((word for word in ("all", "any") if word in inner), None)
    if word is not None:
        return _group(f"not_{word}", inner, node["holds"], contact)
    if "not" in inner:
        return Node(_("Not this"), node["holds"], inner=[_node(inner, contact)])
    return _leaf(node, inner, contact)


def _group(kind: str, group: dict[str, Any], holds: bool, contact: Contact) -> Node:
    titles = {
        "all": _("All of these"),
        "any": _("At least one of these"),
        "not_all": _("Not all of these"),
        "not_any": _("None of these"),
    }
    rules = group.get("all", group.get("any"))
    empty = _("everyone") if kind in ("all", "not_any") else _("nobody")
    inner = [_node(node, contact) for node in rules or []]
    return Node(titles[kind] if inner else empty, holds, inner=inner)


def _leaf(node: dict[str, Any], leaf: dict[str, Any], contact: Contact) -> Node:
    text, seen, report = clause(node, project_id=contact.project_id), None, ""
    if kind := KINDS.get(leaf["field"]):
        if leaf["seen"] is not None:
            report = kind.shown(leaf["seen"], contact.project.timezone)
    else:
        seen = _compared_value(leaf, contact)
    return Node(text, node["holds"], seen, report, otherwise=_otherwise(node, contact))


def _otherwise(node: dict[str, Any], contact: Contact) -> str:
    if node["holds"]:
        return ""
    return clause(node.get("not", {"not": node}), project_id=contact.project_id)


def _compared_value(leaf: dict[str, Any], contact: Contact) -> str | None:
    """The value that the rule compared; None if there is nothing to show."""
    if leaf["field"] == "list":
        return None
    seen = leaf["seen"] or ""
    value = contact.attributes.get(leaf["field"].partition(".")[2])
    if isinstance(value, list | dict | bool):  # PostgreSQL's text of it has brackets and quotes
        return plainly(value) if value not in NOTHING else _("empty")
    if field_of(leaf["field"]).kind != "time" or not (moment := parse_datetime(seen)):
        return str(seen)
    return short(moment, contact.project.timezone)


# --- Empty audiences ------------------------------------------------------------------------------

MAX_JUDGED = 10  # rules; with more, nobody would read the answer


@dataclass(frozen=True)
class Emptied:
    """A rule that leaves nobody. `alone`: nobody matches it, whatever the other rules say."""

    rule: str
    alone: bool


def emptied(project_id: int, tree: dict[str, Any]) -> list[Emptied]:
    """Find the rules that make an audience empty.

    These are the rules that match nobody on their own. If there are none, it is the first rule that
    excludes everybody whom the rules before it left. People are read once for all rules.
    """
    rules = _joint_rules(tree)
    if not 1 < len(rules) <= MAX_JUDGED:
        return []
    alone, remaining = _which_match(project_id, rules)
    culprits = [(rule, True) for rule, has_match in zip(rules, alone, strict=True) if not has_match]
    culprits = culprits or [
        (rule, False) for rule, stays in zip(rules, remaining, strict=True) if not stays
    ]
    limit = len(rules) if culprits[0][1] else 1
    return [Emptied(clause(rule, project_id=project_id), alone) for rule, alone in culprits[:limit]]


def _joint_rules(tree: dict[str, Any]) -> list[dict[str, Any]]:
    """The rules that must all hold. For “none of these”, they are negated one by one."""
    if "all" in tree:
        return list(tree["all"])
    if "not" in tree and "any" in tree["not"]:
        return [{"not": rule} for rule in tree["not"]["any"]]
    return [tree]


def _which_match(project_id: int, rules: list[dict[str, Any]]) -> tuple[list[bool], list[bool]]:
    """For each rule: whether anybody matches it, and whether anybody matches all rules up to it."""
    conditions = [compile_tree(rules_for_sql(project_id, rule, whole=True)) for rule in rules]
    fits = [f"fits[{number}]" for number in range(1, len(conditions) + 1)]
    upto = [" AND ".join(fits[:number]) for number in range(1, len(conditions) + 1)]
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {', '.join(f'COALESCE(bool_or({one}), FALSE)' for one in [*fits, *upto])}"
            f" FROM (SELECT ARRAY[{', '.join(condition.sql for condition in conditions)}] AS fits"
            f" FROM {people_and_devices(project_id)} WHERE c.project_id = %s) judged",
            [*(param for condition in conditions for param in condition.params), project_id],
        )
        row = cursor.fetchone()
    return list(row[: len(conditions)]), list(row[len(conditions) :])
