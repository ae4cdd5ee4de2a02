"""Closed forms and exact results behind the claims; imports nothing above `positions`."""
