"""What does a drafter gain from training on its target's distribution, by loss and by text?"""
