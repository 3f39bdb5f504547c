"""Reading of headers: byte access (read), link layer (ethernet), network layer (ip), tunnels and mirrors."""
