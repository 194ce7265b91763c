"""The Doctor tab: records of other engines, and what follows from them."""
