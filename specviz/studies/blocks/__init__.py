"""What a block that is filled in one pass gains where its rows know something of each other."""
