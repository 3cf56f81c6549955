"""When a recurring campaign is due, and on which days it is left out."""
