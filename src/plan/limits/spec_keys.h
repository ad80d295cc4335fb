/*
 * Data-sheet figures that a limit may refer to as spec.NAME. The figures themselves are in
 * configs/gpus (reference/spec.h).
 *
 * Adding a figure: one row in spec_keys.c.
 */
#ifndef GPUPROOF_PLAN_LIMITS_SPEC_KEYS_H
#define GPUPROOF_PLAN_LIMITS_SPEC_KEYS_H

/*
 * The word in a limit for the one of these figures that bounds the case, by the rows of its suite
 * (sheet_row, result/presentation.h).
 */
#define SPEC_PEAK "peak"

struct spec_key {
	const char *name;
	const char *unit; /* SI base */
	const char *help;
};

extern const struct spec_key spec_keys[];               /* ends with { 0 } */
const struct spec_key *spec_key_find(const char *name); /* NULL: there is none */

#endif
