"""Speed claims as ratios: `python -m tests.benchmarks` runs every case and writes reports/bench/."""
