"""Team: who may log in, and with which role. For owners only."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import Group, User
from django.db.models import Value
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import path, reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy
from django_otp.plugins.otp_static.admin import StaticDevice
from django_otp.plugins.otp_totp.admin import TOTPDevice
from unfold.forms import (
    AdminPasswordChangeForm,
    UnfoldReadOnlyPasswordHashWidget,
    UserChangeForm,
    UserCreationForm,
)
from unfold.widgets import UnfoldAdminRadioSelectWidget

from notifications.admin import second_factor as second_factor_pages
from notifications.admin.ui.current_project import current_project
from notifications.admin.ui.dialogs import Dialog, FinalDialog, ask, close_dialog
from notifications.admin.ui.page import Page, page_url
from notifications.admin.ui.unfolded import action, display
from notifications.staff import second_factor
from notifications.staff.team import Role, TeamMember, owners, role_of
from notifications.values.moments import in_zone

# `config/doors.py` defines five fixed roles: permission groups would be a second definition.
admin.site.unregister([User, Group])
# Users see their own second factor, and an owner may reset it: nobody reads the secrets.
# (Importing these models from their admin modules has already registered them.)
admin.site.unregister([StaticDevice, TOTPDevice])


class RoleField(forms.ChoiceField):
    def __init__(self) -> None:
        super().__init__(
            label=gettext_lazy("Role"),
            choices=Role.choices,
            initial=Role.VIEWER,
            widget=UnfoldAdminRadioSelectWidget(),
            help_text=gettext_lazy("Each role may also do what the ones above it may."),
        )


class NewMemberForm(UserCreationForm):  # type: ignore[misc]
    usable_password = None  # it asks whether people log in elsewhere, and there is no elsewhere
    role = RoleField()


class SealedPassword(UnfoldReadOnlyPasswordHashWidget):  # type: ignore[misc]
    """Shows only that a password is set: its algorithm, salt and hash help nobody."""

    def get_context(self, name: str, value: Any, attrs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context(name, value, attrs)
        if len(context["summary"]) > 1:  # else it says that there is none
            context["summary"] = [{"label": _("Set. Nobody can read it.")}]
        return context


class MemberForm(UserChangeForm):  # type: ignore[misc]
    role = RoleField()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["password"].widget = SealedPassword()
        self.fields["password"].help_text = format_html(
            '<p><a class="c-link" href="../password/">{}</a></p>', _("Set another one")
        )
        self.fields["is_active"].help_text = _(
            "Off: they can no longer log in. What they did stays in the audit trail."
        )
        self.fields["role"].initial = role_of(self.instance) or _role_before(self.instance)

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        stays = cleaned.get("role") == Role.OWNER and cleaned.get("is_active")
        if not stays and not owners().exclude(pk=self.instance.pk).exists():
            self.add_error(
                "role",
                _(
                    "There must be an owner, and there is no other. Make somebody else "
                    "an owner first."
                ),
            )
        return cleaned


def _role_before(user: User) -> Role:
    """The stored role of a user who may not log in at present."""
    member = TeamMember.objects.filter(user=user).first()
    return Role(member.role) if member else Role.VIEWER


@admin.register(User)
class UserPage(Page, UserAdmin):  # type: ignore[type-arg]
    has_project = False
    form = MemberForm
    add_form = NewMemberForm
    change_password_form = AdminPasswordChangeForm
    list_display = ["username", "full_name", "role", "is_active", "logged_in"]
    list_filter = ["is_active"]
    search_fields = ["username", "first_name", "last_name", "email"]
    filter_horizontal = ()
    fieldsets = [
        (None, {"fields": ["username", "password"]}),
        (pgettext_lazy("team", "Person"), {"fields": ["first_name", "last_name", "email"]}),
        (pgettext_lazy("team", "Access"), {"fields": ["role", "is_active"]}),
    ]
    add_fieldsets = [(None, {"fields": ["username", "password1", "password2", "role"]})]
    add_form_template = None  # Django's says only that there is more to fill in afterwards

    actions_detail = ["forget_factor"]

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view
        own = [
            path("me/second-factor/", view(second_factor_pages.own), name="second_factor"),
            path("me/code/", view(second_factor_pages.ask), name="second_factor_ask"),
        ]
        return [*own, *super().get_urls()]

    def get_queryset(self, request: HttpRequest) -> Any:
        project = current_project(request)
        zone = Value(project.timezone if project else "UTC")
        return super().get_queryset(request).annotate(zone=zone)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False  # members who left are made inactive: the audit trail still names them

    @display(description=gettext_lazy("name"))
    def full_name(self, obj: User) -> str:
        return obj.get_full_name() or "–"

    @display(description=gettext_lazy("last login"), ordering="last_login")
    def logged_in(self, obj: Any) -> str:
        return in_zone(obj.last_login, obj.zone) if obj.last_login else _("never")

    @display(description=gettext_lazy("role"))
    def role(self, obj: User) -> str:
        role = role_of(obj)
        return role.word if role else _("may not log in")

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        role, before = Role(form.cleaned_data["role"]), role_of(obj) if change else None
        obj.is_staff = True  # Django's word for “may open the pages”
        obj.is_superuser = obj.is_superuser and role == Role.OWNER
        super().save_model(request, obj, form, change)
        TeamMember.objects.update_or_create(user=obj, defaults={"role": role})
        if role != before:
            self.record(request, "gave a role", obj, changes={"role": [before, role]})

    def get_actions_detail(self, request: HttpRequest, object_id: str) -> list[Any]:
        actions: list[Any] = super().get_actions_detail(request, object_id)  # type: ignore[misc]
        user = self.get_object(request, object_id)
        theirs = user and user != request.user and second_factor.has_any(user)
        return actions if theirs else []

    @action(
        description=gettext_lazy("Reset the second factor"),
        icon="phonelink_erase",
        permissions=["change"],
        dialog=ask(
            gettext_lazy("Reset this person's second factor?"),
            form=FinalDialog,
            text=gettext_lazy(
                "For a lost phone. Until they set up a new one, their password is enough."
            ),
            button=gettext_lazy("Reset it"),
        ),
    )
    def forget_factor(self, request: HttpRequest, form: Dialog, object_id: str) -> HttpResponse:
        user = User.objects.get(pk=object_id)
        if user == request.user:  # an open page alone must not be enough
            message = _("Your own is turned off here, with your password and a code.")
            return close_dialog(request, message, to=reverse("admin:second_factor"))
        second_factor.forget(user)
        self.record(request, "reset the second factor", user)
        return close_dialog(request, _("Their password is enough now."), to=page_url(user))

    def user_change_password(
        self, request: HttpRequest, id: str, form_url: str = ""
    ) -> HttpResponse:
        if id == str(request.user.pk):  # that page asks for the old password
            return HttpResponseRedirect(reverse("admin:password_change"))
        reply = super().user_change_password(request, id, form_url)
        if request.method == "POST" and reply.status_code == HTTPStatus.FOUND:
            self.record(request, "set a password", self.get_object(request, id))
        return reply
