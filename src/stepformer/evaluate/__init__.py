"""How good is a translator? Scores of its sentences, of its probabilities, and of where its attention looks.

`bleu` computes BLEU by hand and keeps every number on the way; `scores` asks sacrebleu, for BLEU, chrF and their
signatures; `exact` counts sentences that are right, group by group; `perplexity` asks how unsure the model is;
`alignment` compares attention with the words that people would join; `bootstrap` says how far chance alone could move
a score. `evaluation` runs them all, and `report` writes down what came out. `curves` holds what was measured of the
book's own machines: quality against the number of clauses, on the way through training.
"""
