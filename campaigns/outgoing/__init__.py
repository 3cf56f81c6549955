"""Reports out of what runs do: what endpoints are told of runs, messages, devices and people.

The app's start-up enters, and the doors of endpoints: they name campaigns.
"""
