"""Audience: who? Saved rules, or a static list of people."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db import connection, models, transaction
from django.db.models import Q
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from campaigns.audiences import rules
from campaigns.audiences.behavior.naming import looked_up
from campaigns.audiences.reach import Reach
from campaigns.audiences.resolving import events_kept
from campaigns.audiences.resolving.settling import launched, settled
from campaigns.runs import series
from campaigns.runs.messages.many import runs_unfolding
from campaigns.runs.run import Run
from notifications.people.contact import Contact
from notifications.people.locking import stay
from notifications.people.project import OfProject
from notifications.values import seen
from notifications.values.copies import name_of_copy


class Audience(OfProject):
    """The people a campaign goes to: rules, or a list."""

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
    # The last count, and its rules: {people, devices, exact, at, of}. A list page never counts:
    # that may take seconds for each row.
    size = models.JSONField(null=True, editable=False)
    filling = models.JSONField(
        null=True,
        editable=False,
        help_text="Of a list that is being filled: whom its rules find, and how far it is.",
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
            validate_rules(self.rules, project_id=self.project_id, of=self.pk)
        if self.filling is not None:
            if "problem" in self.filling:
                raise ValidationError(_("It was not filled. Open the list: it says why."))
            raise ValidationError(_("It is still being filled. Try again in a moment."))

    @property
    def effective_rules(self) -> dict[str, Any]:
        """Its rules; for a list, the rule “is on this list”."""
        if self.kind == self.Kind.LIST:
            return {"field": "list", "op": "eq", "value": self.pk}
        kept: dict[str, Any] = self.rules
        return kept

    def keep_size(self, found: Reach, rules: dict[str, Any], now: datetime) -> None:
        """Keep the count of these rules; it is no longer shown if the rules have changed in the
        meantime."""
        counted = {"people": found.people, "devices": found.devices, "exact": found.exact}
        self.size = {**counted, "at": now.isoformat(), "of": seen.mark(rules)}
        Audience.objects.filter(pk=self.pk).update(size=self.size)

    @property
    def known_size(self) -> dict[str, Any] | None:
        fits = self.size and self.size.get("of") == seen.mark(self.effective_rules)
        return self.size if fits else None

    def frozen_rules(self) -> dict[str, Any]:
        """The rules a launch freezes, independent of later changes in other rows. Raises
        ValidationError."""
        return launched(self.project_id, self.effective_rules, of=self.pk)

    def used_by(self) -> list[models.Model]:
        """What uses it: campaigns, audiences whose rules name it, and for a list also runs."""
        return [*self.campaigns.all(), *self.named_by(), *self._filling(), *self._asked_by()]

    def named_by(self) -> list[Audience]:
        """Audiences whose rules name this one."""
        others = Audience.objects.filter(project=self.project_id, kind=self.Kind.RULES)
        me = ("audience", self.pk)
        return [other for other in others if me in rules.named_in(other.rules)]

    def _filling(self) -> list[Audience]:
        """Lists that are being filled by rules that name this one."""
        others = Audience.objects.filter(project=self.project_id).exclude(filling=None)
        me = ("audience", self.pk)
        return [one for one in others if me in rules.named_in((one.filling or {}).get("rules"))]

    def _asked_by(self) -> list[Run]:
        """Runs launched with this list in their rules, whatever the audience says now, and those of
        messages to it that not all its people have yet. Audiences with rules are copied into the
        run, so no run refers to them."""
        if self.kind != self.Kind.LIST:
            return []
        runs = series.going_on(self.project_id)
        asked = [run for run in runs if self.pk in rules.lists_named(run.rules)]
        return [*asked, *runs_unfolding(self.pk)]

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        """Raises ProtectedError while anything needs it. No foreign key covers rules, and without
        the list, everybody whom it excluded would be included."""
        with transaction.atomic():
            Audience.objects.select_for_update().filter(pk=self.pk).first()  # see `hold_lists`
            if users := self.used_by():
                raise models.ProtectedError(f"{self} is still used.", set(users))
            stay(self.members.values_list("contact", flat=True))
            return super().delete(*args, **kwargs)

    def duplicate(self) -> Audience:
        """With everybody on it, if it is a list."""
        with transaction.atomic():
            # Another copy at the same moment gets the next free name.
            now = Audience.objects.select_for_update(no_key=True).get(pk=self.pk)
            copy = Audience.objects.create(
                project_id=self.project_id,
                name=self._free_name(),
                kind=self.kind,
                rules=self.rules,
                filling=now.filling,  # the sweep has the copy filled to its end as well
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
        taken = Audience.objects.filter(project=self.project_id).values_list("name", flat=True)
        return name_of_copy(self.name, set(taken))


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


def validate_rules(tree: Any, *, project_id: int, of: int | None = None) -> None:
    """`of`: the audience whose rules they are to be, if it is saved already."""
    lists = Audience.objects.filter(project=project_id, kind=Audience.Kind.LIST)
    rules.validate(tree, lists=set(lists.values_list("pk", flat=True)))
    named = set(rules.named_in(tree))
    if gone := named - set(looked_up(project_id, named)):
        raise ValidationError({"rules": rules.no_such(tree, gone)})
    _refuse_too_far_back(project_id, tree)
    meant = launched(project_id, tree, of=of)
    settled(project_id, meant)
    _refuse_half_lists(meant)


def _refuse_too_far_back(project_id: int, tree: Any) -> None:
    """Rules on events that look further back than these are kept, each at its place."""
    events = events_kept.kept(project_id, tree)
    if events and (found := rules.each_at_fault(tree, events.problem)):
        raise ValidationError({"rules": found})


def _refuse_half_lists(tree: dict[str, Any]) -> None:
    """A list that is not complete would exclude too few people."""
    named = Audience.objects.filter(pk__in=rules.lists_named(tree)).exclude(filling=None)
    if half := named.first():
        text = gettext("the list “%(name)s” is still being filled. Try again in a moment.")
        if "problem" in (half.filling or {}):
            text = gettext("the list “%(name)s” was not filled. Open it: it says why.")
        raise ValidationError({"rules": text % {"name": half}})


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
