"""Look into a trained model: what its parts are needed for, what it knows at each depth, and where it fails.

`reading` hands a model the right translation and keeps what it says to every word; all other modules compare such
readings. `heads` takes heads away; `weights` puts other attention weights in the place of the model's own; `words`
takes words of the source away; `positions` lets a sentence stand further back. `stream` keeps the residual stream of
a test set, `lens` reads that of one sentence at each depth, and `plane` draws embeddings.
"""
