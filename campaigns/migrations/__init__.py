"""Migrations that have landed are not edited: what they import is found here, wherever it moved."""

import sys

import campaigns
import notifications.migrations  # noqa: F401  # they name modules of notifications, too
from campaigns.audiences import rules
from campaigns.texts import template

for moved in (rules, template):
    name = moved.__name__.rpartition(".")[2]
    sys.modules[f"campaigns.{name}"] = moved
    setattr(campaigns, name, moved)
