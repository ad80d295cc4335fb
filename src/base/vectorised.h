/*
 * For loops over elements: compiled once for plain x86-64 and once for AVX2 and AVX-512, chosen at start. Not
 * under a sanitizer, whose run-time is not ready when that choice is made.
 */
#ifndef GPUPROOF_BASE_VECTORISED_H
#define GPUPROOF_BASE_VECTORISED_H

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && \
	!defined(__clang__)
#define VECTORISED __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define VECTORISED
#endif

#endif
