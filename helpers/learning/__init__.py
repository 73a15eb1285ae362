"""Training and prediction for every task: one Accelerate loop, encoders, heads, weight averages."""
