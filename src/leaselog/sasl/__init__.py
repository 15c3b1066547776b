"""What the two sides of a SASL exchange say to each other, and what follows from it: no socket, clock or config."""
