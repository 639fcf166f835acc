"""How a consumer group's members share messages: bench/systems/kafka/members.py."""

CLASSIC, NEW, SHARE = GROUP_TYPES = ("classic", "consumer", "share")
