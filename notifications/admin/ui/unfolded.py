"""Unfold's classes and decorators with types, which the package does not ship.

One function is patched: it computed a list's headers again for each row, which took a fifth of the
page's time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from django import forms
    from django.contrib import admin
    from django.contrib.admin.views.main import ChangeList as ChangeList
    from django.core import paginator
    from django.http import HttpRequest

    Any_ = TypeVar("Any_", bound=Callable[..., Any])

    ModelAdmin = admin.ModelAdmin[Any]
    ModelForm = forms.ModelForm[Any]
    Paginator = paginator.Paginator[Any]
    TabularInline = admin.TabularInline[Any, Any]

    class BaseDialogForm(forms.Form):
        request: HttpRequest
        object_id: str | None

    checkbox: forms.CheckboxInput

    def action(**options: Any) -> Callable[[Any_], Any_]: ...
    def display(**options: Any) -> Callable[[Any_], Any_]: ...

else:
    from django.core.paginator import Paginator as Paginator
    from django.forms import ModelForm as ModelForm
    from unfold.admin import ModelAdmin as ModelAdmin
    from unfold.admin import TabularInline as TabularInline
    from unfold.admin import checkbox as checkbox
    from unfold.decorators import action as action
    from unfold.decorators import display as display
    from unfold.forms import BaseDialogForm as BaseDialogForm
    from unfold.templatetags import unfold_list
    from unfold.views import ChangeList as ChangeList

    _headers_of = unfold_list.result_headers

    def _headers_once(changelist):
        if not hasattr(changelist, "headers_once"):
            changelist.headers_once = list(_headers_of(changelist))
        return changelist.headers_once

    unfold_list.result_headers = _headers_once
