"""How the members of a group share messages: a pull consumer that all of them ask."""

PULL, ONE_AT_A_TIME = GROUP_TYPES = ("pull", "one_at_a_time")
"""With `one_at_a_time` (max_ack_pending=1) the next message of a partition waits until the one before is processed."""
