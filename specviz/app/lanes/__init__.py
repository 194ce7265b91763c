"""Draft and verification beside each other: recorded lanes as a chart of times."""
