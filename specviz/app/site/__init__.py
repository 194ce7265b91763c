"""The static site: the player, the recordings, the lessons and the sweeps' charts as files, without any server."""
