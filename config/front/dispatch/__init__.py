"""How a request is answered: by a thread, in a batch, or together with an equal one."""
