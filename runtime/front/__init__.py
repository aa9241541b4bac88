"""Where TCP clients arrive: a process that holds them off from the agent until they have shown who
they are, and no source has more than its share."""
