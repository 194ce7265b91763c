"""The page around its tabs: how it is built, served and styled."""
