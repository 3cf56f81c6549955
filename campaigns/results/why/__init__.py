"""Why a person got a run, or did not, and what would be decided now."""
