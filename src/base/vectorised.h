/*
 * For loops over elements: compiled once for plain x86-64 and once for AVX2 and AVX-512, chosen at start. Not
 * under a sanitizer, whose run-time is not ready when that choice is made.
 */
#ifndef GPUPROOF_BASE_VECTORISED_H
#define GPUPROOF_BASE_VECTORISED_H

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && \
	!defined(__clang__)
#if __GNUC__ >= 12
#define VECTORISED __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else /* GCC 11 (Ubuntu 22.04) knows no levels; a model's name would mean that model alone. */
#define VECTORISED __attribute__((target_clones("avx512f", "avx2", "default")))
#endif
#else
#define VECTORISED
#endif

#endif
