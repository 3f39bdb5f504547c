"""Headers as data: each layout declared once, for the display of packets and for the Wireshark plugin."""
