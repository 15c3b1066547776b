"""APIs about what a client asks of any broker first: one module each, its rules at the top."""
