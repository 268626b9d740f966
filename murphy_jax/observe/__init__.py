"""What a run shows of itself: metrics on disk, progress in a terminal, a report as one page."""
