"""The page's ground: how events behave, what messages, badges and tables look like, and the colours of charts."""
