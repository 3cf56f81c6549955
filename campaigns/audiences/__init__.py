"""Audiences: rules, their SQL, and why a person matches."""
