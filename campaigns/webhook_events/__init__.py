"""What is reported of runs, messages, devices and people: the events and their texts."""
