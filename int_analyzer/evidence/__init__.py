"""Outside evidence: counters of switches, network cards and GPUs, from a file or from a Prometheus → `series.Counters`."""
