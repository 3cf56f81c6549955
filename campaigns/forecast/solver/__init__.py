"""The solver: computes when each message of a run would leave. Pure: no database and no clock."""
