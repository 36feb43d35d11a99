"""Maps by which programs at static probes find their arguments: libbpf's usdt.bpf.h.  Loaders fill them, compilers define them."""

SPECS = "__bpf_usdt_specs"  # where arguments are, by number
IP_TO_ID = "__bpf_usdt_ip_to_spec_id"  # that number, by the place that was hit
