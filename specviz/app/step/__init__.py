"""The Watch tab: one run in the player, and the form that runs another."""
