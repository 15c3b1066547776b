"""What a group's dead letters are, looked at and put back: a pure core, and the reading and writing around it."""
