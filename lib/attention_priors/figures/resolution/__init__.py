"""Resolution: accuracy on finer grids than that of training, and the learned prior as a picture."""
