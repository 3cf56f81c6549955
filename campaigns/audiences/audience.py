"""Audiences: saved rules, or static lists of people."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db import connection, models, transaction
from django.db.models import Q
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from campaigns.audiences import rules
from campaigns.audiences.behavior.row_names import look_up_names
from campaigns.audiences.reach import Reach
from campaigns.audiences.resolving import events_kept
from campaigns.audiences.resolving.settling import rules_at_launch, rules_for_sql
from campaigns.runs import series
from campaigns.runs.messages.bulk_messages import runs_unfolding
from campaigns.runs.run import Run
from notifications.people.contact import Contact
from notifications.people.locking import lock_people_against_erasure
from notifications.people.project import OfProject
from notifications.values import row_versions
from notifications.values.copy_names import name_of_copy


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
    # The last count: {people, devices, exact, at, of}; `of` is a hash of the rules counted. Pages
    # with many audiences show it, because counting may take seconds for each row.
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
        own_rules: dict[str, Any] = self.rules
        return own_rules

    def keep_size(self, found: Reach, rules: dict[str, Any], now: datetime) -> None:
        """Store the count of these rules. It is not shown if the audience's rules have changed."""
        counted = {"people": found.people, "devices": found.devices, "exact": found.exact}
        self.size = {**counted, "at": now.isoformat(), "of": row_versions.mark(rules)}
        Audience.objects.filter(pk=self.pk).update(size=self.size)

    @property
    def known_size(self) -> dict[str, Any] | None:
        is_current = self.size and self.size.get("of") == row_versions.mark(self.effective_rules)
        return self.size if is_current else None

    def frozen_rules(self) -> dict[str, Any]:
        """The rules that a launch freezes. Later changes in other rows have no effect on them.

        Raises ValidationError.
        """
        return rules_at_launch(self.project_id, self.effective_rules, of=self.pk)

    def used_by(self) -> list[models.Model]:
        """What uses it: campaigns, audiences whose rules name it, and runs if it is a list."""
        return [
            *self.campaigns.all(),
            *self.named_by(),
            *self._lists_being_filled(),
            *self._dependent_runs(),
        ]

    def named_by(self) -> list[Audience]:
        """Audiences whose rules name this one."""
        audiences = Audience.objects.filter(project=self.project_id, kind=self.Kind.RULES)
        me = ("audience", self.pk)
        return [audience for audience in audiences if me in rules.named_in(audience.rules)]

    def _lists_being_filled(self) -> list[Audience]:
        """Lists that are being filled from rules that name this audience."""
        lists = Audience.objects.filter(project=self.project_id).exclude(filling=None)
        me = ("audience", self.pk)
        return [
            filled_list
            for filled_list in lists
            if me in rules.named_in((filled_list.filling or {}).get("rules"))
        ]

    def _dependent_runs(self) -> list[Run]:
        """Runs that need this list; none for an audience with rules, which a run copies.

        These are runs launched with the list in their rules, even if the audience's rules no longer
        name it, and runs of messages to the whole list of which some are not written yet.
        """
        if self.kind != self.Kind.LIST:
            return []
        runs = series.going_on(self.project_id)
        naming_runs = [run for run in runs if self.pk in rules.lists_named(run.rules)]
        return [*naming_runs, *runs_unfolding(self.pk)]

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        """Delete the audience. Raises ProtectedError while anything uses it.

        Rules name lists without a foreign key. If a list were deleted, rules that exclude its
        people would include them.
        """
        with transaction.atomic():
            Audience.objects.select_for_update().filter(pk=self.pk).first()  # see `hold_lists`
            if users := self.used_by():
                raise models.ProtectedError(f"{self} is still used.", set(users))
            lock_people_against_erasure(self.members.values_list("contact", flat=True))
            return super().delete(*args, **kwargs)

    def duplicate(self) -> Audience:
        """Copy the audience; the copy of a list has the same people."""
        with transaction.atomic():
            # The lock makes a concurrent copy wait, so that it gets the next free name.
            original = Audience.objects.select_for_update(no_key=True).get(pk=self.pk)
            copy = Audience.objects.create(
                project_id=self.project_id,
                name=self._free_name(),
                kind=self.kind,
                rules=self.rules,
                filling=original.filling,  # the sweep finishes the copy too
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
        names = Audience.objects.filter(project=self.project_id).values_list("name", flat=True)
        return name_of_copy(self.name, set(names))


class Member(models.Model):
    """One person on a static list."""

    audience = models.ForeignKey(Audience, on_delete=models.CASCADE, related_name="members")
    contact = models.ForeignKey(Contact, on_delete=models.CASCADE)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["audience", "contact"], name="once_on_a_list")
        ]

    def __str__(self) -> str:
        return f"{self.contact} on {self.audience}"


def validate_rules(tree: Any, *, project_id: int, of: int | None = None) -> None:
    """Check rules against their project. Raises ValidationError.

    `of`: the audience that gets the rules, if it is already saved.
    """
    lists = Audience.objects.filter(project=project_id, kind=Audience.Kind.LIST)
    rules.validate(tree, lists=set(lists.values_list("pk", flat=True)))
    named = set(rules.named_in(tree))
    if missing := named - set(look_up_names(project_id, named)):
        raise ValidationError({"rules": rules.no_such(tree, missing)})
    _refuse_too_far_back(project_id, tree)
    launched_rules = rules_at_launch(project_id, tree, of=of)
    rules_for_sql(project_id, launched_rules)
    _refuse_half_lists(launched_rules)


def _refuse_too_far_back(project_id: int, tree: Any) -> None:
    """Refuse rules that look further back than events are kept, each at its place in the tree."""
    events = events_kept.retention_of_events(project_id, tree)
    if events and (problems := rules.each_at_fault(tree, events.problem)):
        raise ValidationError({"rules": problems})


def _refuse_half_lists(tree: dict[str, Any]) -> None:
    """Refuse rules on a list that is not complete: it would exclude too few people."""
    named = Audience.objects.filter(pk__in=rules.lists_named(tree)).exclude(filling=None)
    if half := named.first():
        text = gettext("the list “%(name)s” is still being filled. Try again in a moment.")
        if "problem" in (half.filling or {}):
            text = gettext("the list “%(name)s” was not filled. Open it: it says why.")
        raise ValidationError({"rules": text % {"name": half}})


def hold_lists(project_id: int, tree: dict[str, Any]) -> set[int]:
    """Lock the static lists in the rules, and return the ids of those that no longer exist.

    Nobody can delete a locked list until the transaction ends. A deletion that waited then sees
    what the transaction did, and refuses if the list is used.
    """
    named = rules.lists_named(tree)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id FROM campaigns_audience"
            " WHERE project_id = %s AND kind = 'list' AND id = ANY(%s) FOR KEY SHARE",
            [project_id, list(named)],
        )
        return set(named) - {row[0] for row in cursor.fetchall()}
