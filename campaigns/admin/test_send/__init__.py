"""The dialog of a test send, and what came of it. The pages of templates and campaigns enter."""
