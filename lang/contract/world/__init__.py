"""What a host knows that packets are held against."""
