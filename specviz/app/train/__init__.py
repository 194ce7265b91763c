"""The Train tab: a drafter module learns in front of the visitor, and steps with what it has learnt."""
