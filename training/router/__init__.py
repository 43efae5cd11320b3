"""The router (graph-only or expansion): outcomes of both arms as labels, training, regret."""
