"""What several tabs share."""
