"""What one client, and all of them together, may make the broker do or hold."""
