"""Rehearsals through the API. The API's addresses enter."""
