"""Many labels a post, notebook 05: folds, thresholds, calibration, probing a leaderboard, trigger spans."""
