"""Text checks by API: begun, watched, cancelled, read. The URLs enter."""
