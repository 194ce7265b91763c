"""Learn: the lessons on the page, over the recorded runs of its gallery."""
