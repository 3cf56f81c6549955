"""The engine: moves runs through their states, and removes old ones. Start with `engine.py`."""
