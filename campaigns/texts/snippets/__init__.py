"""Snippets: short texts of a project that templates include."""
