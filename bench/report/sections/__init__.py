"""What the sections of a report show: each takes the results and gives what its template draws."""
