"""The other senders in the table, each as documented and in a process of its own."""
