"""Transactions: who may write under a transactional id, and how what was written is committed or aborted as one."""
