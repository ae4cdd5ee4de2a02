"""Runs the notebooks headless, in order, and keeps their executed copies.

order     which notebook needs which, and the make rules for it
stamps    what an executed copy was made from, and whether it is still current
plan      the notebooks of one command, and which of them still have to run
execute   one notebook through papermill: strict parameters, one-line failures, heartbeat
scrub     what must not be committed with an executed copy: paths, times, addresses, widgets
progress  elapsed time, estimates of the time left, provenance
"""
