"""Losses: drops and silence, retransmissions, and the link that explains them."""
