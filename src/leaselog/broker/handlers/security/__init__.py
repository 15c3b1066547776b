"""APIs about users and what they may do: one module each, its rules at the top."""
