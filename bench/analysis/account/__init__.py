"""The delivery account: which messages were lost, duplicated or out of order."""
