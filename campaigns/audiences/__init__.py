"""Audiences: their rules, the SQL of the rules, and why a person matches."""
