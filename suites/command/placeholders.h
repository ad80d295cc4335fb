/*
 * {name} in the texts of a section: the case's value of the list of that name, or a name of the
 * device. {name:bytes} is a size as a plain number, {{name}} the text {name}; any other brace is
 * itself.
 */
#ifndef GPUPROOF_SUITES_COMMAND_PLACEHOLDERS_H
#define GPUPROOF_SUITES_COMMAND_PLACEHOLDERS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "device/device_info.h"
#include "plan/plan.h"

struct placeholder {
	const char *name; /* in the text: not terminated */
	size_t length;
	bool bytes; /* ":bytes" is after the name */
};

/* The first at or after `text`: its start and in *end its end; NULL: there is none. */
const char *placeholder_find(const char *text, struct placeholder *found, const char **end);
/* True for device, index and uuid. */
bool placeholder_is_device(const struct placeholder *p);

enum escape {
	ESCAPE_NOTHING,
	ESCAPE_REGEX /* a value stands for itself in a regular expression */
};

/* The text with the values of the case on `device`; malloc'ed. */
char *placeholders_fill(const char *text, const struct plan_case *c,
			const struct device_info *device, enum escape escape);

#endif
