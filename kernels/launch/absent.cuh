/* The body of a kernel that the code being compiled cannot have. */
#ifndef GPUPROOF_KERNELS_LAUNCH_ABSENT_CUH
#define GPUPROOF_KERNELS_LAUNCH_ABSENT_CUH

/*
 * A device whose driver compiled the code of an older one must not take such a launch for a
 * result.
 */
static __device__ __forceinline__ void code_is_absent(void)
{
	__trap();
}

#endif
