"""The launch check: what a launch now would do, for the page, the dialog and the API."""
