"""What a fault did to service and to copies."""
