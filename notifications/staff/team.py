"""The team: its members and their roles. Each of the five roles includes the one before it."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User
from django.db import models
from django.db.models import Q
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from notifications.staff.api_key import Scope


class Role(models.TextChoices):
    """The roles, from least to most rights. One word says everything that a person may do."""

    VIEWER = "viewer", _("Viewer"), _("sees people, texts, runs and results")
    EDITOR = (
        "editor",
        _("Editor"),
        _("also writes audiences and texts, and plans; launches nothing"),
    )
    SENDER = "sender", _("Sender"), _("also launches, pauses, resumes and cancels")
    OPERATOR = (
        "operator",
        _("Operator"),
        _("also projects, their credentials, API keys and workers"),
    )
    OWNER = "owner", _("Owner"), _("also the team")

    _word: Any

    def __new__(cls, value: str, word: Any = "") -> Role:
        role = str.__new__(cls, value)
        role._value_, role._word = value, word
        return role

    @property
    def word(self) -> str:
        return str(self._word)

    @property
    def label(self) -> Any:
        """The role and what it may do, for the form that sets it."""
        return format_lazy("{}: {}", self._word, self._label_)

    def covers(self, needed: Role) -> bool:
        ladder = list(Role)
        return ladder.index(self) >= ladder.index(needed)


# The role that may do the same on the pages as a key with this scope. A key must never have more
# rights than the person who made it.
ROLE_OF_SCOPE = {
    Scope.CONTACTS: Role.EDITOR,
    Scope.AUDIENCES: Role.EDITOR,
    Scope.TEMPLATES: Role.EDITOR,
    Scope.RUNS: Role.EDITOR,
    Scope.LAUNCH: Role.SENDER,
    Scope.MESSAGES: Role.SENDER,
}


class TeamMember(models.Model):
    """A person's role in the team."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="team_member"
    )
    role = models.CharField(max_length=20, choices=Role)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(role__in=[str(role) for role in Role]), name="team_role_is_known"
            )
        ]

    def __str__(self) -> str:
        return f"{self.user}: {Role(self.role).word}"


def role_of(user: AbstractBaseUser | AnonymousUser) -> Role | None:
    """Return the person's role, or None for no access. A superuser is always an owner."""
    if not (isinstance(user, User) and user.is_active and user.is_staff):
        return None
    if user.is_superuser:
        return Role.OWNER
    member = getattr(user, "team_member", None)
    return Role(member.role) if isinstance(member, TeamMember) else None


def owners() -> models.QuerySet[User]:
    """Return the people who can change the team. There must always be at least one."""
    theirs = Q(is_superuser=True) | Q(team_member__role=Role.OWNER)
    return User.objects.filter(theirs, is_active=True, is_staff=True).order_by("pk")
