"""The `leaselog` command: arguments and printing."""
