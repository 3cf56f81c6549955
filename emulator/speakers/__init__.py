"""TLS sockets that speak HTTP/1.1 or HTTP/2."""
