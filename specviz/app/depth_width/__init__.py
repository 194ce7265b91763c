"""Depth against width on the page: a chart and a table of the shipped result."""
