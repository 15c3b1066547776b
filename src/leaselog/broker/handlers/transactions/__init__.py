"""Transactions: their producers, their partitions, their ends."""
