"""One exchange of HTTP: what was asked, what is replied, and how it ends. Every room may enter."""
