"""The share machine: who holds which record, until when, how often delivered. Pure; knows neither bytes nor clocks."""
