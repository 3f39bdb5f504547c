"""One packet shown header by header: the declarations of headers, what the kernel did with a packet, and the Wireshark plugin."""
