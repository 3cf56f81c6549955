"""Pages of people's consent: answers and suppressions. The pages of people enter."""
