"""What a pipeline's parser makes of packets, for people and for programs to read."""
