/*
 * Differences between CUDA toolkits 11.8 to 13 and between target architectures: no other file
 * tests a version or __CUDA_ARCH__ (ci/check-layers). Device features are queried at run time. If a
 * toolkit dropped a field of cudaDeviceProp (13: the clocks), files use cudaDeviceGetAttribute,
 * which all have.
 *
 * Adding a code path of a kernel for some architectures: cuda_device_check_path() (cuda_kernel.h)
 * in its launcher, and a row in tests/gpu/coverage.c.
 */
#ifndef GPUPROOF_KERNELS_LAUNCH_COMPAT_H
#define GPUPROOF_KERNELS_LAUNCH_COMPAT_H

#include <cuda_runtime_api.h>

/*
 * Oldest driver that runs programs of this toolkit (NVIDIA's table of minor-version compatibility).
 */
#if CUDART_VERSION >= 13000
#define CUDA_MIN_DRIVER 580
#elif CUDART_VERSION >= 12000
#define CUDA_MIN_DRIVER 525
#elif CUDART_VERSION >= 11080
#define CUDA_MIN_DRIVER 450
#else
#error "the CUDA backend needs toolkit 11.8 or newer"
#endif

/* 1 if the module contains code for sm_90a, whose instructions toolkit 11.8 lacks. */
#ifdef GPUPROOF_WGMMA
#define CUDA_HAS_WGMMA 1
#else
#define CUDA_HAS_WGMMA 0
#endif

/* Features of the device code being compiled; none in host code. */
#ifdef __CUDA_ARCH__
#define CODE_CAPABILITY (__CUDA_ARCH__ / 10)
#else
#define CODE_CAPABILITY 0
#endif
#define CODE_HAS_HALF_ARITHMETIC (CODE_CAPABILITY >= 53)
#define CODE_HAS_NANOSLEEP (CODE_CAPABILITY >= 70)
#define CODE_HAS_TENSOR_CORES (CODE_CAPABILITY >= 70)
#define CODE_HAS_MATRIX_LOADS (CODE_CAPABILITY >= 75)
#define CODE_HAS_BF16_CONVERSION (CODE_CAPABILITY >= 80)
#define CODE_HAS_TF32 (CODE_CAPABILITY >= 80)
#define CODE_HAS_ASYNC_COPY (CODE_CAPABILITY >= 80)
/* mma.sync of FP8, which toolkits know since 12.4. */
#define CUDA_HAS_FP8_MMA (CUDART_VERSION >= 12040)
#define CODE_HAS_FP8_MMA (CODE_CAPABILITY >= 89 && CUDA_HAS_FP8_MMA)

#ifdef __CUDACC__
/*
 * Body of a kernel that the compiled architecture does not support. Traps: a device whose driver
 * compiled PTX of an older architecture must not return from such a launch as if it had computed
 * something.
 */
static __device__ __forceinline__ void compat_code_is_absent(void)
{
	__trap();
}
#endif

#endif
