"""Who: audiences, their rules and SQL of them, and why somebody is in or out."""
