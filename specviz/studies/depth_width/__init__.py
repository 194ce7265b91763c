"""Small models of six depths at one size as drafters: depth against width."""
