"""Collisions: how many people would get more than one campaign on the same day."""
