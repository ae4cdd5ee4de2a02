"""InfiniteBench and LongBench, read in chunks by any causal model of transformers with RoPE.

    python -m attention_priors.commands.benchmarks --model PATH --tasks passkey,kv_retrieval --length 32000 --out FOLDER

`infinitebench` and `longbench` read the files of the two, `synthetic` makes the first's three retrieval tasks without a
network, `metrics` scores answers as the benchmarks define it.
"""
