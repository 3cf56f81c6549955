"""The endpoints that manage where reports go, with their log, tests and replays."""
