"""The forecast of a run: when people would get it, by local time and capacity."""
