"""A reader's own encoding, from one file to its place among the committed ones.

    make encoding FILE=my_encoding.py            laws, three seeds, prompts up to 64 times the training length
    make encoding FILE=my_encoding.py SSMAX=1    the same of its form with scalable softmax

`read("my_encoding.py")` registers the encoding of a file, so that models trained with it can be opened again.
"""

from .source import Own, Wrong, read

__all__ = ["Own", "Wrong", "read"]
