"""State tables: what packets left there, read and deleted from outside."""
