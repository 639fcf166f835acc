"""How nodes run: as processes in network namespaces of their own, in a sandbox that leaves nothing behind."""
