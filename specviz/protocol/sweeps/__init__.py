"""A sweep in words: what is asked, what was found, and the files that hold both."""
