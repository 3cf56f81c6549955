"""How much was sent, by day: computed by beat for past days, counted for today."""
