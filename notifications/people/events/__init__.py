"""Events: what people did, in one table with a partition for each month."""
