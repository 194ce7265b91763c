"""How often the branches of one tree contradict each other."""
