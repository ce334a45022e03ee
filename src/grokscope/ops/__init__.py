"""Operations that know the run axis or a device, each next to its plain reference; `triton/` has the GPU kernels."""
