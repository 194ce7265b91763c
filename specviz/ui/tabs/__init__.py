"""The page's tabs, one file each: what stands in a tab and what its controls do."""
