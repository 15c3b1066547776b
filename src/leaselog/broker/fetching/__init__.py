"""How a consumer's fetch reads, waits and goes on in a session."""
