/*
 * Fuzz targets: LLVMFuzzerTestOneInput() hands bytes to one reader, which must answer with a
 * document or an error, soon, and never crash. Built by clang with -fsanitize=fuzzer they search
 * (preset fuzz, ci/fuzz); else they are tests that read the seeds and what was ever found wrong
 * (tests/fuzz/corpus/<target>/, standalone.c).
 */
#ifndef GPUPROOF_TESTS_FUZZ_FUZZ_H
#define GPUPROOF_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
