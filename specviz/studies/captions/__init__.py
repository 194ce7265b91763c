"""Which words of a caption can be drafted without seeing the picture?"""
