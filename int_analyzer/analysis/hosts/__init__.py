"""What hosts did: messages → storage I/O, rings, all-to-all → who is late, and whether the network can be why."""
