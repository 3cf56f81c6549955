"""Category: a kind of message that people can accept or decline."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from notifications.people.project import (
    GAP_MINUTES,
    PER_DAY,
    PER_WEEK,
    OfProject,
    Project,
    wrong_caps,
)

CAPS = ("cap_per_day", "cap_per_week", "cap_gap_minutes")  # the category's own
MOST = 50  # per project: the page of a person shows all of them


def slugs_of(project: Project) -> set[str]:
    return set(Category.objects.filter(project=project).values_list("slug", flat=True))


class Category(OfProject):
    """A kind of message, such as offers or receipts: its consent, quiet hours and caps."""

    class Kind(models.TextChoices):
        MARKETING = "marketing", _("Marketing")
        TRANSACTIONAL = "transactional", _("Transactional")
        CRITICAL = "critical", _("Critical")

    class QuietHours(models.TextChoices):
        WAIT = "wait", _("Waits until they end")
        SEND = "send", _("Goes at any hour")

    class Caps(models.TextChoices):
        KEEP = "keep", _("Skips people who have had enough, and counts")
        EXEMPT = "exempt", _("Reaches everybody, and counts")
        FREE = "free", _("Reaches everybody, and does not count")

    name = models.CharField(max_length=100)
    slug = models.SlugField(
        max_length=50,
        help_text=_("Short name that the API and imports use, such as offers. It stays as it is."),
    )
    kind = models.CharField(max_length=13, choices=Kind, default=Kind.MARKETING)
    quiet_hours = models.CharField(
        max_length=4,
        choices=QuietHours,
        default=QuietHours.WAIT,
        db_default=QuietHours.WAIT.value,
        help_text=_("The project says which hours these are. What is critical goes at any hour."),
    )
    caps = models.CharField(
        max_length=6,
        choices=Caps,
        default=Caps.KEEP,
        db_default=Caps.KEEP.value,
        help_text=_(
            "The project says how many messages are enough. What is transactional reaches "
            "everybody in any case, and what is critical does not count either."
        ),
    )
    # The project's caps apply as well. See caps.py.
    cap_per_day = models.PositiveSmallIntegerField(
        "at most, a day",
        null=True,
        blank=True,
        validators=PER_DAY,
        help_text=_(
            "So many messages of this category a person gets in 24 hours; further ones skip them. "
            "The project's own caps hold as well. Empty: only those."
        ),
    )
    cap_per_week = models.PositiveSmallIntegerField(
        "at most, in seven days",
        null=True,
        blank=True,
        validators=PER_WEEK,
        help_text=_("The same in seven days. Empty: only the project's."),
    )
    cap_gap_minutes = models.PositiveSmallIntegerField(
        "at least, minutes between two",
        null=True,
        blank=True,
        validators=GAP_MINUTES,
        help_text=_(
            "What would come sooner after another message of this category skips the person. "
            "Empty: only the project's."
        ),
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = _("category")
        verbose_name_plural = _("categories")
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["project", "slug"], name="one_category_per_slug"),
            models.CheckConstraint(
                condition=Q(kind__in=["marketing", "transactional", "critical"]),
                name="a_kind_of_category_we_know",
            ),
            models.CheckConstraint(condition=~Q(slug=""), name="a_category_has_a_slug"),
            models.CheckConstraint(
                condition=Q(quiet_hours__in=["wait", "send"]), name="quiet_hours_we_know"
            ),
            models.CheckConstraint(
                condition=Q(caps__in=["keep", "exempt", "free"]), name="a_way_with_caps_we_know"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def widened(self) -> bool:
        """Whether the changed kind would reach people who declined the stored, marketing one."""
        stored_kind = Category.objects.filter(pk=self.pk).values_list("kind", flat=True).first()
        return stored_kind == self.Kind.MARKETING != self.kind

    def wrong_caps(self) -> dict[str, Any]:
        """Errors by field. A category that skips nobody may have no caps: they would not apply."""
        if self.kind == self.Kind.MARKETING and self.caps == self.Caps.KEEP:
            return wrong_caps(self)
        text = _("Only a marketing category that skips people has caps of its own. Leave it empty.")
        return {name: text for name in CAPS if getattr(self, name) is not None}

    @property
    def has_caps(self) -> bool:
        return any(getattr(self, name) is not None for name in CAPS)

    def clean(self) -> None:
        """Refuse wrong fields. The slug cannot change: people's answers are stored under it."""
        wrong: dict[str, Any] = self.wrong_caps()
        if self.name and not self.name.strip():
            wrong["name"] = _("Write more than spaces.")
        stored = Category.objects.filter(pk=self.pk).values_list("slug", flat=True).first()
        if stored is not None and stored != self.slug:
            wrong["slug"] = _("The short name stays: people's choices are kept under it.")
        others = Category.objects.filter(project=self.project_id).exclude(pk=self.pk)
        if others.filter(slug=self.slug).exists():
            wrong["slug"] = _("There is a category with this short name already.")
        elif self._state.adding and others.count() >= MOST:
            wrong["slug"] = _("A project has at most 50 categories. Delete one first.")
        if wrong:
            raise ValidationError(wrong)
