"""Webhook events: what is reported of runs, messages, devices and people, and the texts."""
