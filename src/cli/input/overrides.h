/* Overrides of config keys by options such as --set. */
#ifndef GPUPROOF_CLI_INPUT_OVERRIDES_H
#define GPUPROOF_CLI_INPUT_OVERRIDES_H

#include "plan/config.h"

struct overrides {
	struct override *items; /* their texts belong to the struct */
	size_t count, capacity;
};

/* Takes ownership of "SECTION.KEY=VALUE". */
void overrides_add(struct overrides *overrides, char *text);
/* Adds a copy, as the `take` function of an option (cli/options.h). */
enum status overrides_take(void *overrides, const char *name, const char *value, struct error *err);
void overrides_release(struct overrides *overrides);

#endif
