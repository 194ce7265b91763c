"""What rests on the bundled weights, and how each part is made anew."""
