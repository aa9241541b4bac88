"""What was asked for, kept so that a reboot loses nothing."""
