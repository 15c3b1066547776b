"""Records that a share group gave up, written to its dead-letter topic."""
