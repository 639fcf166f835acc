"""Records of a run folder: written by the runner, read by the analysis and the report, as the same classes.

`trial.py` has what trial.json holds (docs/event-log.md), `steps.py` what each step of a trial's faults did.
"""
