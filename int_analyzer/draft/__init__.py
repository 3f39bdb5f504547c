"""The draft of a profile: what captures show of a fabric, and what their raw values seem to mean."""
