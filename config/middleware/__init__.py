"""What every request and every answer passes through on its way."""
