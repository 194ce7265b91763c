"""What does a right answer cost, by the style in which it is asked for?"""
