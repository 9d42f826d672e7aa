"""Functions that no rule yields from their signatures in C: what they do with Python's own objects is written here.

One module for each of the package's that has such functions. Their names and docs are in the spec.
"""
