"""Messages to one person: their rows, and how due ones become recipients of a chunk."""
