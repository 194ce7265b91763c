"""Rules that students write: their language, their exact law, the mistakes in them, and tasks to hand in."""
