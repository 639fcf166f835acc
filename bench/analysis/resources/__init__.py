"""The use of servers, machine and client in a trial, and the bottleneck."""
