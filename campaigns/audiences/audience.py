"""Audience: who? Saved rules, or a static list of people."""

from __future__ import annotations

import itertools
from typing import Any

from django.db import connection, models, transaction
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from campaigns.audiences import rules
from campaigns.runs import series
from campaigns.runs.run import Run
from notifications.people.contact import Contact
from notifications.people.locking import stay
from notifications.people.project import OfProject


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
