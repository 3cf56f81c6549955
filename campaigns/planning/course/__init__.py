"""The forecast of a run: when its people would get it, by local time and capacity."""
