"""The endpoints of automations."""
