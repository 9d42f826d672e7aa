"""Hand-written functions: they use Python objects in ways that cannot be generated from their C signatures.

There is one module for each module of the package with such functions. Their names and documentation are in the spec.
"""
