"""Consent: subscriptions, categories, suppressions, quiet hours, caps."""
