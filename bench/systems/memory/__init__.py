"""The in-memory system: topics are files in a folder, and every fault is chosen by a seed."""
