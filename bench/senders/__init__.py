"""Who sends in the table beside the product: each as documented, in a process of its own."""
