"""The command lines of helioc, helioctl and heliod, above both planes."""
