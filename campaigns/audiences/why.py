"""Is this person in, and why? The tree of rules with ticks, and the rules that decided it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from django.db import connection
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _

from campaigns.audiences.bounds import leaves
from campaigns.audiences.rules import field_of
from campaigns.audiences.selection import PEOPLE_AND_DEVICES, compile_tree, value_of
from campaigns.audiences.words import clause
from notifications.people.contact import Contact
from notifications.people.device import Device
from notifications.values.moments import short


@dataclass(frozen=True)
class Node:
    """One rule, or a group of them: whether it holds, and what it saw."""

    said: str
    holds: bool
    seen: str | None = None
    inner: list[Node] = field(default_factory=list)


@dataclass(frozen=True)
class InOrOut:
    contact: Contact
    tree: Node
    because: list[Node]
    devices: list[tuple[Device, bool]]

    @property
    def is_in(self) -> bool:
        return self.tree.holds

    @property
    def selected(self) -> int:
        return sum(chosen for device, chosen in self.devices)

    @property
    def whole_tree(self) -> bool:
        """Whether there is more to see than what decided."""
        return len(self.tree.inner) > 1 or any(node.inner for node in self.tree.inner)


def verdict(contact: Contact, tree: dict[str, Any]) -> InOrOut:
    explained = explain(contact, tree)
    return InOrOut(
        contact=contact,
        tree=_node(explained, contact),
        because=[_node(node, contact) for node in _deciding(explained)],
        devices=selected_devices(contact, tree),
    )


def selected_devices(contact: Contact, tree: dict[str, Any]) -> list[tuple[Device, bool]]:
    """The person's devices, and which of them the rules select."""
    where = compile_tree(tree)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT d.id, {where.sql} FROM {PEOPLE_AND_DEVICES}"
            " WHERE c.id = %s AND d.id IS NOT NULL",
            [*where.params, contact.pk],
        )
        verdicts = dict(cursor.fetchall())
    devices = Device.objects.filter(pk__in=verdicts).order_by("-last_seen_at")
    return [(device, verdicts[device.pk]) for device in devices]


def explain(contact: Contact, tree: dict[str, Any]) -> dict[str, Any]:
    """The tree again: each node with whether it holds for this person, each leaf with what it saw.

    Asked in the very SQL that selects, of one device: one that is selected if there is any, else
    the one seen last. So the answer cannot differ from a launch. Raises Contact.DoesNotExist when
    somebody erased them meanwhile.
    """
    return _explained(tree, iter(_holds(contact, tree)))


def _holds(contact: Contact, tree: dict[str, Any]) -> list[tuple[bool, Any]]:
    asked = [compile_tree(tree)]
    for leaf in leaves(tree):
        asked += [compile_tree(leaf), value_of(leaf)]
    columns = ", ".join(part.sql for part in asked)
    params = [param for part in asked for param in part.params]
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {columns} FROM {PEOPLE_AND_DEVICES} WHERE c.id = %s"
            " ORDER BY 1 DESC, d.last_seen_at DESC NULLS LAST LIMIT 1",
            [*params, contact.pk],
        )
        row = cursor.fetchone()
    if row is None:
        raise Contact.DoesNotExist
    return list(zip(row[1::2], row[2::2], strict=True))


def _explained(tree: dict[str, Any], verdicts: Any) -> dict[str, Any]:
    if "all" in tree or "any" in tree:
        word, combine = ("all", all) if "all" in tree else ("any", any)
        inner = [_explained(node, verdicts) for node in tree[word]]
        return {word: inner, "holds": combine(node["holds"] for node in inner)}
    if "not" in tree:
        node = _explained(tree["not"], verdicts)
        return {"not": node, "holds": not node["holds"]}
    holds, seen = next(verdicts)
    return {**tree, "holds": holds, "seen": seen}


def _deciding(node: dict[str, Any]) -> list[dict[str, Any]]:
    """The rules that made it so: of an “all” that failed, those that failed."""
    if "not" in node:
        return [_turned(inner) for inner in _deciding(node["not"])]
    word = next((word for word in ("all", "any") if word in node), None)
    if word is None:
        return [node]
    agreeing = [inner for inner in node[word] if inner["holds"] == node["holds"]]
    if word == "any" and node["holds"]:
        agreeing = agreeing[:1]  # the first is enough
    return [leaf for inner in agreeing for leaf in _deciding(inner)]


def _turned(node: dict[str, Any]) -> dict[str, Any]:
    """“Is not pro: no” is a reason; “is pro: yes”, inside a not, is a riddle."""
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
    inner = [_node(one, contact) for one in rules or []]
    return Node(titles[kind] if inner else empty, holds, inner=inner)


def _leaf(node: dict[str, Any], leaf: dict[str, Any], contact: Contact) -> Node:
    said = clause(node, project_id=contact.project_id)
    return Node(said, node["holds"], _seen(leaf, contact))


def _seen(leaf: dict[str, Any], contact: Contact) -> str | None:
    """The value the rule looked at; None where there is nothing to see."""
    if leaf["field"] == "list":
        return None
    seen = leaf["seen"] or ""
    if field_of(leaf["field"]).kind != "time" or not (moment := parse_datetime(seen)):
        return str(seen)
    return short(moment, contact.project.timezone)
