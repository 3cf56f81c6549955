"""The pages of categories."""
