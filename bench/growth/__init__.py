"""How it grows: with workers, recipients, people to plan for, visitors, and with time."""
