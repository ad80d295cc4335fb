/* Body of a kernel that the compiled architecture does not support. */
#ifndef GPUPROOF_KERNELS_LAUNCH_ABSENT_CUH
#define GPUPROOF_KERNELS_LAUNCH_ABSENT_CUH

/*
 * Traps: a device whose driver compiled PTX of an older architecture must not return from such a
 * launch as if it had computed something.
 */
static __device__ __forceinline__ void code_is_absent(void)
{
	__trap();
}

#endif
