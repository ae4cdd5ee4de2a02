"""Tables of the merged ledger."""
