"""From logged rounds to the weights of stop policies that go by a classifier."""
