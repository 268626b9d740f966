"""What there is to solve: task records, a loader a benchmark, the repair family, the order they come in."""
