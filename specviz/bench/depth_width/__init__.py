"""Small models of several depths as drafters: replayed on recorded texts, timed, run (`specviz study depth-width`)."""
