"""Test sends through the API. The API's addresses enter."""
