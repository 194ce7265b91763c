"""The What-if tab: modelled speedups and simulated runs."""
