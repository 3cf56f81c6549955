"""Why a person got a run's message, or not, and what would be decided now."""
