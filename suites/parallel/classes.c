#include "suites/parallel/classes.h"

#include <stdio.h>

#include "base/units.h"
#include "suites/suite.h"

uint64_t classes_total(const uint64_t *bytes)
{
	uint64_t total = 0;

	for (int c = 0; c < MEMORY_STEP_CLASSES; c++)
		total += bytes[c];
	return total;
}

void classes_record(struct run *run, const uint64_t *bytes)
{
	char name[64];

	snprintf(name, sizeof(name), "%s.memory", run->c->suite->name);
	run_value(run, name, (double)classes_total(bytes));
	for (int c = 0; c < MEMORY_STEP_CLASSES; c++) {
		snprintf(name, sizeof(name), "%s.memory_%s", run->c->suite->name,
			 memory_class_names[c]);
		run_value(run, name, (double)bytes[c]);
	}
}

void classes_describe(struct text *out, const uint64_t *bytes)
{
	const char *between = "";
	char size[32];

	for (int c = 0; c < MEMORY_STEP_CLASSES; c++) {
		if (!bytes[c])
			continue;
		text_addf(out, "%s%s %s", between, memory_class_names[c],
			  units_format((double)bytes[c], "B", size, sizeof(size)));
		between = ", ";
	}
	if (!*between)
		text_add(out, "nothing");
}
