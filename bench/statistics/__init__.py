"""How much two cases differ over rounds: what the analysis writes, and what the report compares by itself."""
