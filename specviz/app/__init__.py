"""The page: plain data, pictures and widgets, one folder per tab. Reads traces; imports no torch."""
