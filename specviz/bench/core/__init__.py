"""One runner, one row and one report for every experiment."""
