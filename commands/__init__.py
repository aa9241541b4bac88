"""What people type: helioc, helioctl and heliod, above both planes."""
