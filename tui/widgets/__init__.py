"""Small controls that the panes are made of."""
