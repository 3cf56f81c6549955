"""What a rehearsal is, beside its run. Whoever may enter the room of runs enters this one."""
