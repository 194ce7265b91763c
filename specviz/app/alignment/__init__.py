"""The alignment study on the page: a chart and a table of the shipped result."""
