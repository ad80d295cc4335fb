/*
 * Counter-based random numbers: element `index` of stream `seed` is a pure function of both, so any
 * rank, device or thread generates any slice without communication, and a checker needs no copy of
 * the data. Compiles for host and device.
 *
 * The mixer is splitmix64's finaliser (Steele, Lea, Flood, OOPSLA 2014) over seed + index * golden
 * ratio.
 */
#ifndef GPUPROOF_KERNELS_GENERATOR_H
#define GPUPROOF_KERNELS_GENERATOR_H

#include <stdint.h>

#ifdef __CUDACC__
#define GENERATOR_FN static inline __host__ __device__
#else
#define GENERATOR_FN static inline
#endif

GENERATOR_FN uint64_t generator_bits(uint64_t seed, uint64_t index)
{
	uint64_t z = seed + (index + 1) * UINT64_C(0x9E3779B97F4A7C15);

	z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
	return z ^ (z >> 31);
}

/* Uniform in [-1, 1), exactly representable in FP32 (24 bits). */
GENERATOR_FN float generator_uniform(uint64_t seed, uint64_t index)
{
	return (float)(int32_t)(generator_bits(seed, index) >> 40) * 0x1p-23f - 1.0f;
}

#endif
