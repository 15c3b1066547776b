"""The shipped test kit: a simulated world with a broker in it, and a checker of what share consumers saw."""
