"""What a trace of a packet says, how a traced program writes it down, and how it is read again."""
