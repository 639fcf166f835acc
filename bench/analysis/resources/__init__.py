"""What a trial took of servers, machine and client, and what limited it."""
