"""Who may log in: Django's users and groups in Unfold's clothes."""

from __future__ import annotations

from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from notifications.admin.page import Page

admin.site.unregister([User, Group])
# Lock-outs end by themselves, or by `manage.py axes_reset`; axes' own pages speak another language.
admin.site.unregister([AccessAttempt, AccessFailureLog, AccessLog])


@admin.register(User)
class UserPage(Page, UserAdmin):  # type: ignore[type-arg]
    has_project = False
    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    list_display = ["username", "first_name", "last_name", "is_staff", "is_superuser", "last_login"]


@admin.register(Group)
class GroupPage(Page, GroupAdmin):
    has_project = False
