"""Local time: when a person may get a run. Pure."""
