"""How much runs of other engines accepted, beside our own: a fold of the When-it-pays tab."""
