"""The quota of a Firebase project, hour by hour: what is planned, and what still fits."""
