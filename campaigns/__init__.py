"""Audiences, templates, campaigns, and the engine that runs them."""
