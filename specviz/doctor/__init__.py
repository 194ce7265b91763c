"""What is wrong with my speculation? Reads what engines tell of it, and says in sentences what follows.

records ─► findings ─► command line, page
"""
