"""Messages to single people: their rows, and how due messages become recipients of a chunk."""
