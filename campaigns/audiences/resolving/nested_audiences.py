"""Audiences in audiences: each is replaced by its rules, so that a launch freezes them."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.db import connection
from django.utils.translation import gettext as _

from campaigns.audiences.behavior.nested import FIELD, ids_of
from campaigns.audiences.bounds import AS_KEPT
from campaigns.audiences.resolving.leaf_by_leaf import Leaf, each_leaf
from campaigns.audiences.rules import problems
from notifications.values import exact

MAX_AUDIENCES = 50  # nested in one tree; each is read once
INCLUDES = ("eq", "in")


class Nest:
    """The audiences of one project, each read and expanded once while a tree is expanded.

    An audience named twice gives the same tree, not a copy: with twenty names in each of a few
    audiences, copies would be millions of rules, too many even to count and refuse. An expanded
    audience had no circle in it, so it is not checked again.
    """

    def __init__(self, project_id: int) -> None:
        self.project_id = project_id
        self.read: dict[int, Leaf] = {}
        self.done: dict[int, Leaf] = {}

    def expanded(self, tree: Leaf, inside: tuple[int, ...]) -> Leaf:
        """The tree, with each rule on an audience replaced by that audience's rules.

        `inside`: the audiences that the tree is nested in. Raises ValidationError.
        """

        def change(leaf: Leaf) -> Leaf:
            return self._replacement(leaf, inside) if leaf["field"] == FIELD else leaf

        return each_leaf(tree, change)

    def _replacement(self, leaf: Leaf, inside: tuple[int, ...]) -> Leaf:
        trees = [self._rules_of(pk, inside) for pk in dict.fromkeys(ids_of(leaf["value"]))]
        rules = trees[0] if len(trees) == 1 else {"any": trees}
        return rules if leaf["op"] in INCLUDES else {"not": rules}

    def _rules_of(self, pk: int, inside: tuple[int, ...]) -> Leaf:
        if pk not in self.done:
            self.done[pk] = self._expand_once(pk, inside)
        return self.done[pk]

    def _expand_once(self, pk: int, inside: tuple[int, ...]) -> Leaf:
        if pk not in self.read:
            self.read[pk] = self._look_up(pk)
        if len(self.read) > MAX_AUDIENCES:
            text = _("at most %(most)s audiences can be used in one another.")
            raise ValidationError({"rules": text % {"most": MAX_AUDIENCES}})
        if pk in inside:
            text = _("an audience cannot contain itself, and this one would, through audience "
            "%(id)s. Remove that rule.")  # fmt: skip
            raise ValidationError({"rules": text % {"id": pk}})
        return self.expanded(self.read[pk], (*inside, pk))

    def _look_up(self, pk: int) -> Leaf:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT name, kind, rules::text FROM campaigns_audience"
                " WHERE project_id = %s AND id = %s",
                [self.project_id, pk],
            )
            row = cursor.fetchone()
        if row is None:
            text = _("there is no audience %(id)s in this project.")
            raise ValidationError({"rules": text % {"id": pk}})
        name, kind, rules = row
        return (
            {"field": "list", "op": "eq", "value": pk}
            if kind == "list"
            else _load_valid(name, rules)
        )


def _load_valid(name: str, rules: str) -> Leaf:
    tree: Leaf = exact.loads(rules)
    if broken := problems(tree, AS_KEPT):
        text = _("the rules of the audience “%(name)s” no longer work: %(problem)s")
        raise ValidationError({"rules": text % {"name": name, "problem": broken[0]}})
    return tree
