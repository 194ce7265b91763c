"""What is it worth to read a document once, and to answer all questions to it in one pass?"""
