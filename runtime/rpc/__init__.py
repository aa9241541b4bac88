"""The control service: control.proto, what is generated of it, its methods and their limits."""
