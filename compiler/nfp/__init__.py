"""What a Netronome card takes."""
