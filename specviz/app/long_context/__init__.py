"""The study of long contexts on the page: a chart and a table of the shipped result."""
