"""Messages to single people through the API of a whole stack."""
