"""Prompt styles: a recorded result as a chart of what a right answer costs, by style and drafter."""
