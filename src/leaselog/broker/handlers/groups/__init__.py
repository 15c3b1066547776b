"""APIs about groups of every kind, and the offsets they commit: one module each, its rules at the top."""
