"""Consent: subscriptions, categories, suppressions, quiet hours, frequency caps."""
