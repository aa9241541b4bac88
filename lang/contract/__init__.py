"""What both planes and controllers speak."""
