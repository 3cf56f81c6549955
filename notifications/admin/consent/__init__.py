"""The pages of consent: answers and suppressions."""
