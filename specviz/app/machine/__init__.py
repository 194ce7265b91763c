"""The Machine tab: step times and the roofline."""
