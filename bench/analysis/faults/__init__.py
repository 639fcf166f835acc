"""Effects of a fault on service and on copies."""
