/*
 * Placeholders {name} in the texts of a section: the case's value of the list with that name, or a
 * property of the device. {name:bytes} is a size as a plain number, {{name}} the text {name}; other
 * braces are ordinary characters.
 */
#ifndef GPUPROOF_SUITES_COMMAND_PLACEHOLDERS_H
#define GPUPROOF_SUITES_COMMAND_PLACEHOLDERS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "device/device_info.h"
#include "plan/plan.h"

struct placeholder {
	const char *name; /* points into the text: not NUL-terminated */
	size_t length;
	bool bytes; /* the name is followed by ":bytes" */
};

/* The first placeholder at or after `text`, and in *end its end; NULL: none. */
const char *placeholder_find(const char *text, struct placeholder *found, const char **end);
/* True for device, index and uuid. */
bool placeholder_is_device(const struct placeholder *p);

enum escape {
	ESCAPE_NOTHING,
	ESCAPE_REGEX /* escapes a value for use in a regular expression */
};

/* Fills in the values of the case on `device`; the caller frees the text. */
char *placeholders_fill(const char *text, const struct plan_case *c,
			const struct device_info *device, enum escape escape);

#endif
