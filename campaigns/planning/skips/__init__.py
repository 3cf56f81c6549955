"""How many devices a campaign would be sent to, and how many are skipped for which reason."""
