"""Operations that know the run axis or a device, each beside its plain reference; `triton/` has the GPU kernels."""
