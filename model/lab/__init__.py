"""The lab: each claim that a textbook makes about decoding, run and read as a table.

One file an experiment; ``catalogue`` lists them without loading torch, ``base`` says what an
experiment is given and what it gives back. Nothing here prints or draws.
"""
