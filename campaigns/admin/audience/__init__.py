"""The pages of audiences."""
