"""The quota of a Firebase project: what is planned in each hour, and what still fits."""
