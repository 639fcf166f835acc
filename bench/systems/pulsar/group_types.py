"""How a subscription's consumers share messages."""

EXCLUSIVE, FAILOVER, SHARED, KEY_SHARED = GROUP_TYPES = ("Exclusive", "Failover", "Shared", "Key_Shared")
