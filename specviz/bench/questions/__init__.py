"""One document, many questions: what reading it once is worth."""
