"""Training runs on many machines, through dask.distributed (the extra `cluster`).

    python -m attention_priors.commands.cluster tcp://scheduler:8786 --profile full

`dispatch` sends what the store lacks; `worker` is what the other machines do. A run travels as its specification and
the bytes of its files, so that no disk is shared, and has the key that it has when it is trained here.
"""
