"""How many people would get more than one of the campaigns of a day."""
