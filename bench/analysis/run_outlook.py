"""What an unfinished run has decided so far, by the rules of its results."""

from __future__ import annotations

from pathlib import Path

from bench.analysis.folder import read_folder, trial_path
from bench.analysis.live_figures import TrialFigures, figures
from bench.analysis.verdicts.deciding_rows import MeasuredRows
from bench.analysis.verdicts.outlook import Outlook, outlook, seconds_per_round
from bench.analysis.verdicts.run_verdicts import judgements, ratios


def outlook_of(run: Path, looks: int, trial_figures: dict[int, TrialFigures]) -> Outlook:
    """Judge the trials that a run has so far, at look number `looks` (1, 2, …).

    `trial_figures` has the figures of trials by number from earlier looks; those of further trials are added to it.

    Raises:
        EventLogError: a file of the run is not as docs/event-log.md says.
    """
    folder = read_folder(run)
    for trial in folder.trials:
        if trial.trial not in trial_figures:
            trial_figures[trial.trial] = figures(trial_path(run, trial.trial))
    run_figures = [trial_figures[trial.trial] for trial in folder.trials]
    slices = [row for trial in run_figures for row in trial.slices]
    results = MeasuredRows([trial.row for trial in run_figures], [], [], slices)
    return outlook(
        judgements(folder, results, looks),
        ratios(folder, results),
        folder.manifest.precision,
        folder.rounds,
        seconds_per_round(folder.trials),
    )
