"""One HTTP exchange: request, reply, and how it ends."""
