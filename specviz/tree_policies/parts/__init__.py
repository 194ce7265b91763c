"""What several tree policies share: ways of drawing candidates, and siblings taken one by one. Registers nothing."""
