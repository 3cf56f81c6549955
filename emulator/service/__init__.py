"""What the doors ask before they answer: who may, how much, how fast. The doors enter."""
