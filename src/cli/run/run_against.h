/*
 * run A --against B: measures two configs or two builds of gpuproof alternately, and compares them.
 */
#ifndef GPUPROOF_CLI_RUN_RUN_AGAINST_H
#define GPUPROOF_CLI_RUN_RUN_AGAINST_H

#include "cli/run/run_setup.h"

struct against {
	/* a config, or a program: another build of gpuproof that runs the same config */
	const char *other;
	/* For a program: name of A's config, and its overrides. */
	const char *source;
	const struct overrides *overrides;
	size_t launches; /* of each */
};

/*
 * Measures A (`setup`) into DIR/a and B into DIR/b, launch by launch, with alternating order; `a`
 * and `b` become the pooled results (released by the caller).
 */
enum status run_against(const struct against *against, const struct run_setup *setup,
			const struct conduct_options *options, struct result *a, struct result *b,
			struct error *err);

#endif
