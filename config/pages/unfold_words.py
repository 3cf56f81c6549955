"""Texts of Unfold, which brings no Korean, and texts of Django that we word better."""

from __future__ import annotations

from django.utils.translation import gettext_noop

WORDS = (
    gettext_noop("users"),
    gettext_noop("%(name)s with ID “%(key)s” doesn’t exist. Perhaps it was deleted?"),
    gettext_noop(
        "Please enter your old password, for security’s sake, and then enter your new password "
        "twice so we can verify you typed it in correctly."
    ),
    gettext_noop("Select value"),
    gettext_noop("Select record"),
    gettext_noop("Select action"),
    gettext_noop("Select action to run"),
    gettext_noop(
        "Raw passwords are not stored, so there is no way to see this user’s password, but you "
        'can change the password using <a href="{}" class="text-primary-600 '
        'dark:text-primary-500">this form</a>.'
    ),
    gettext_noop("Expand row"),
    gettext_noop("Welcome back to"),
    gettext_noop("Forgotten your password or username?"),
    gettext_noop("Type to search"),
    gettext_noop("You have been successfully logged out from the administration"),
    gettext_noop("No data"),
    gettext_noop("True"),
    gettext_noop("False"),
    gettext_noop("Apply Filters"),
    gettext_noop("Select all rows"),
    gettext_noop("Loading more results..."),
    gettext_noop("Submit"),
    gettext_noop("This item will be deleted."),
    gettext_noop("Click to cancel"),
    gettext_noop("No results found"),
    gettext_noop("This page yielded into no results. Create a new item or reset your filters."),
    gettext_noop("Reset filters"),
    gettext_noop("Go back"),
    gettext_noop("Previous"),
    gettext_noop("General"),
    gettext_noop("System"),
    gettext_noop("Choose file to upload"),
    gettext_noop("Toggle password visibility"),
    gettext_noop("Add row"),
    gettext_noop(" By %(filter_title)s "),  # Django's Korean cannot tell 로 from 으로
)
