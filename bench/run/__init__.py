"""Running a scenario: plan, run folder, clusters, trials. Wiring only; the rooms below do the work."""
