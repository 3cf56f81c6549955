"""One part of a file at a time becomes people and devices. `importing` enters, by `part.py`."""
