"""In operation: the drift check on live passages, the gate before an adapter is switched in."""
