"""Audience: who? Saved rules, or a static list of people."""

from __future__ import annotations

import itertools
from typing import Any

from django.db import connection, models, transaction
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from campaigns.audiences import rules
from campaigns.audiences.bounds import leaves
from campaigns.audiences.selection import PEOPLE_AND_DEVICES, compile_tree, value_of
from campaigns.runs import series
from campaigns.runs.run import Run
from notifications.people.contact import Contact
from notifications.people.device import Device
from notifications.people.locking import stay
from notifications.people.project import OfProject

MAX_ID = 2**63 - 1


class Audience(OfProject):
    """Who shall hear of it?"""

    class Kind(models.TextChoices):
        RULES = "rules", _("Rules")
        LIST = "list", _("Static list")

    name = models.CharField(max_length=100)
    kind = models.CharField(max_length=5, choices=Kind, default=Kind.RULES)
    rules = models.JSONField(
        default=rules.everyone,
        blank=True,
        help_text=_("A tree of all / any / not; the empty tree means everyone."),
    )
    rules_before = models.JSONField(
        null=True,
        editable=False,
        help_text="What the rules said before an upgrade rewrote them, until somebody saves.",
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["project", "name"], name="one_audience_per_name"),
            models.CheckConstraint(
                condition=Q(kind__in=["rules", "list"]), name="an_audience_is_rules_or_a_list"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        if self.kind == self.Kind.RULES and self.project_id:
            validate_rules(self.rules, project_id=self.project_id)

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Whoever saves it has seen what an upgrade made of its rules."""
        self.rules_before = None
        super().save(*args, **kwargs)

    @property
    def effective_rules(self) -> dict[str, Any]:
        """What a run freezes: a list is the rule “is on this list”."""
        if self.kind == self.Kind.LIST:
            return {"field": "list", "op": "eq", "value": self.pk}
        kept: dict[str, Any] = self.rules
        return kept

    def used_by(self) -> list[models.Model]:
        """What needs it: campaigns, and of a list the rules that name it, of audiences and runs."""
        return [*self.campaigns.all(), *self.named_by(), *self._asked_by()]

    def named_by(self) -> list[Audience]:
        """Audiences whose rules name this list."""
        if self.kind != self.Kind.LIST:
            return []
        others = Audience.objects.filter(project=self.project_id, kind=self.Kind.RULES)
        return [other for other in others if self.pk in rules.lists_named(other.rules)]

    def _asked_by(self) -> list[Run]:
        """What was launched with its name in the rules, whatever the audience says by now."""
        if self.kind != self.Kind.LIST:
            return []
        runs = series.going_on(self.project_id)
        return [run for run in runs if self.pk in rules.lists_named(run.rules)]

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        """Raises ProtectedError while anything needs it. No foreign key looks into rules, and
        without a list everybody whom it left out is in."""
        with transaction.atomic():
            Audience.objects.select_for_update().filter(pk=self.pk).first()  # see `hold_lists`
            if users := self.used_by():
                raise models.ProtectedError(f"{self} is still used.", set(users))
            stay(self.members.values_list("contact", flat=True))
            return super().delete(*args, **kwargs)

    def duplicate(self) -> Audience:
        """With everybody on it, if it is a list."""
        with transaction.atomic():
            # Whoever copies it at the same moment finds the next name free.
            Audience.objects.select_for_update(no_key=True).filter(pk=self.pk).first()
            copy = Audience.objects.create(
                project_id=self.project_id,
                name=self._free_name(),
                kind=self.kind,
                rules=self.rules,
            )
            with connection.cursor() as cursor:
                cursor.execute(
                    "INSERT INTO campaigns_member (audience_id, contact_id)"
                    " SELECT %s, c.id FROM campaigns_member m"
                    " JOIN notifications_contact c ON c.id = m.contact_id"
                    " WHERE m.audience_id = %s ORDER BY c.external_id FOR KEY SHARE OF c",
                    [copy.pk, self.pk],
                )
        return copy

    def _free_name(self) -> str:
        taken = set(Audience.objects.filter(project=self.project_id).values_list("name", flat=True))
        names = (f"{self.name[:85]} (copy{f' {n}' if n > 1 else ''})" for n in itertools.count(1))
        return next(name for name in names if name not in taken)


class Member(models.Model):
    """Who is on this static list?"""

    audience = models.ForeignKey(Audience, on_delete=models.CASCADE, related_name="members")
    contact = models.ForeignKey(Contact, on_delete=models.CASCADE)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["audience", "contact"], name="once_on_a_list")
        ]

    def __str__(self) -> str:
        return f"{self.contact} on {self.audience}"


def validate_rules(tree: Any, *, project_id: int) -> None:
    lists = Audience.objects.filter(project=project_id, kind=Audience.Kind.LIST)
    rules.validate(tree, lists=set(lists.values_list("pk", flat=True)))


def hold_lists(project_id: int, tree: dict[str, Any]) -> set[int]:
    """The lists in the rules that are gone. Those that are there stay until the transaction ends;
    whoever wants to delete one sees then what was done with it."""
    named = rules.lists_named(tree)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id FROM campaigns_audience"
            " WHERE project_id = %s AND kind = 'list' AND id = ANY(%s) FOR KEY SHARE",
            [project_id, list(named)],
        )
        return set(named) - {row[0] for row in cursor.fetchall()}


def sample(
    project_id: int, tree: dict[str, Any], size: int = 10, *, start: int | None = None
) -> list[Contact]:
    """Some of the people the rules select: the newest, or the newest as of the person `start`."""
    where = compile_tree(tree)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT c.id FROM {PEOPLE_AND_DEVICES}"
            f" WHERE c.project_id = %s AND c.id <= %s AND {where.sql}"
            " GROUP BY c.id ORDER BY c.id DESC LIMIT %s",
            [project_id, start or MAX_ID, *where.params, size],
        )
        ids = [row[0] for row in cursor.fetchall()]
    return list(Contact.objects.filter(pk__in=ids).order_by("-pk").prefetch_related("devices"))


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
