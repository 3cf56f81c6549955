"""From a draft to a run: checking the form, checking for launch, launching."""
