"""What several stop policies are made of."""
