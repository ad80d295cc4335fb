/*
 * Data-sheet values that a limit may refer to as spec.NAME. The values are in configs/gpus
 * (reference/spec.h).
 *
 * Adding one: add a row to spec_keys.c.
 */
#ifndef GPUPROOF_PLAN_LIMITS_SPEC_KEYS_H
#define GPUPROOF_PLAN_LIMITS_SPEC_KEYS_H

/*
 * Name in a limit for the data-sheet value that bounds the case, by the rows of its suite
 * (sheet_row, result/presentation.h).
 */
#define SPEC_PEAK "peak"

struct spec_key {
	const char *name;
	const char *unit; /* SI base */
	const char *help;
};

extern const struct spec_key spec_keys[];               /* terminated by { 0 } */
const struct spec_key *spec_key_find(const char *name); /* NULL: unknown name */

#endif
