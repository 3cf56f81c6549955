"""The pages of attributes: how many people have each, and what uses it."""
