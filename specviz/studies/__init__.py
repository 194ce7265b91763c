"""Studies: a result that was measured once and is shipped, with what measures it; a folder each."""
