"""The endpoint that explains why a person got a run, or did not."""
