/*
 * Peak-rate arithmetic kernels. Their results are known to the last bit, so that no work can be
 * optimised away.
 */
#ifndef GPUPROOF_KERNELS_PEAK_PEAK_H
#define GPUPROOF_KERNELS_PEAK_PEAK_H

#include "kernels/generator.h"
#include "kernels/kernel.h"

/*
 * The operation of all kernels: x = x * x + PEAK_SHIFT, rounded once. It neither converges nor
 * diverges (logistic map), so that the multipliers see different digits each time, as in real work.
 */
#define PEAK_SHIFT (-1.875f)
/* Independent chains per lane; start values repeat after PEAK_PERIOD lanes. */
#define PEAK_CHAINS 8
#define PEAK_PERIOD 32
#define PEAK_SEED UINT64_C(0x7065616b)

/*
 * "peak_fma": `lanes` lanes of PEAK_CHAINS chains of `steps` operations, in FP64, FP32 or
 * FP16_ACC16 (pairs: twice the chains). out[lane] is the exclusive or of the final bits of its
 * chains, with a pair's first half in the low bits.
 */
struct peak_fma_arguments {
	enum precision precision;
	uint64_t lanes; /* a multiple of 256 */
	uint64_t steps;
	uint64_t *out;
};

/*
 * "peak_stream": out[i] is in[i] after `steps` operations, in FP64 or FP32. Multiples of 512 bytes.
 */
struct peak_stream_arguments {
	enum precision precision;
	const void *in;
	void *out;
	uint64_t count;
	uint64_t steps;
};

/*
 * "peak_tensor": `groups` groups of threads multiply the same small integers repeatedly, and
 * accumulate: TF32, FP16, BF16, FP8 (E4M3 or E5M2) or INT8. out[group] is the sum of all elements
 * of the final accumulator. The shape of a step depends on the device: kernel_peak_tensor_shape().
 */
struct peak_tensor_arguments {
	enum precision precision;
	uint64_t groups;
	uint64_t steps;
	int64_t *out;
};

/* A step: lefts x rights multiplications of m x k by k x n matrices. */
struct peak_tensor_shape {
	int m, n, k, lefts, rights;
	int groups_per_multiprocessor;
	uint64_t most_steps; /* while sums are exact */
	bool adds_up;        /* otherwise each step starts from zero */
};

/* Start value of a chain; a pair's halves are neighbouring chains of twice as many. */
GENERATOR_FN float kernel_peak_start(uint64_t lane, uint64_t chain, uint64_t chains)
{
	return generator_uniform(PEAK_SEED, lane % PEAK_PERIOD * chains + chain);
}

/* Element k of line `line` of the left (0) or right (1) matrices: -7 to 7. */
GENERATOR_FN int kernel_peak_element(int side, int line, int k)
{
	return (int)(generator_bits(PEAK_SEED + 1 + (uint64_t)side,
				    (uint64_t)line * 128 + (uint64_t)k) >>
		     33) %
		       15 -
	       7;
}

/*
 * True for 9.0 with a module without WGMMA code: its tensor cores then cannot reach their peak
 * rate.
 */
static inline bool kernel_peak_lacks_wgmma(const struct device_info *info)
{
	return info->capability_major == 9 && info->capability_minor == 0 &&
	       !(info->capabilities & DEVICE_HAS_WGMMA);
}

/*
 * The tensor cores of compute capability 9.0 support larger shapes and reach their peak rate only
 * with these. m = 0: the device has no tensor cores for this precision, or the module has no code
 * that reaches their peak rate.
 */
static inline struct peak_tensor_shape kernel_peak_tensor_shape(const struct device_info *info,
								enum precision precision)
{
	int since = precision == PRECISION_FP16 ? 70 : precision == PRECISION_INT8 ? 72 : 80;
	int capability = info->capability_major * 10 + info->capability_minor;
	struct peak_tensor_shape none = { 0, 0, 0, 0, 0, 0, 0, false };
	struct peak_tensor_shape small = { 16,    16,  precision == PRECISION_TF32 ? 8 : 16,
					   2,     4,   32,
					   16384, true };
	/* A line of 128 bytes. */
	int deep = precision == PRECISION_TF32                                  ? 32
		   : precision == PRECISION_FP16 || precision == PRECISION_BF16 ? 64
										: 128;
	bool fp8 = precision == PRECISION_FP8 || precision == PRECISION_E5M2;
	struct peak_tensor_shape large = { 64, 256, deep, 1, 1, 2, 2048, !fp8 };

	if (kernel_peak_lacks_wgmma(info))
		return none;
	if (info->capabilities & DEVICE_HAS_WGMMA)
		return large;
	return fp8 || capability < since ? none : small;
}

/* The part of "peak_tensor" compiled only for compute capability 9.0. */
#ifdef __cplusplus
extern "C"
#endif
	enum status
	peak_wgmma_launch(struct stream *stream, const struct peak_tensor_arguments *arguments,
			  struct error *err);

#endif
