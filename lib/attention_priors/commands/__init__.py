"""One file for each command of the Makefile, and for those of the README. They call; nothing calls them."""
