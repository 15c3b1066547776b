"""What a broker runs on: the machine (clocks, chance, files, threads), turns of the loop, logging, counting."""
