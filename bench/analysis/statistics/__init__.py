"""How far the numbers carry, and how two runs compare."""
