"""The lifecycle of the library, of native handles and of host memory, from the first use to the shutdown."""
