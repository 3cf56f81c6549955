"""The pages of snippets."""
