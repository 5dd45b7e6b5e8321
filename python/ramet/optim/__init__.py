"""Optimizers of embeddings (ramet.nn.Embedding): a step for the rows that have a gradient, no other. Needs torch."""

from ramet.optim.methods import SGD, AdaGrad, Adam, AdamW, RMSProp

__all__ = ["SGD", "AdaGrad", "Adam", "AdamW", "RMSProp"]
