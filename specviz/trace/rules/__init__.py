"""What must hold in a trace, one file per concern; `check` applies them all."""
