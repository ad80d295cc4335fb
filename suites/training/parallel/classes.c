#include "suites/training/parallel/classes.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "plan/suite.h"

uint64_t classes_total(const uint64_t *bytes)
{
	uint64_t total = 0;

	for (int c = 0; c < MEMORY_STEP_CLASSES; c++)
		total += bytes[c];
	return total - bytes[MEMORY_SHARED];
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
	if (bytes[MEMORY_SHARED] == 0)
		return;
	snprintf(name, sizeof(name), "%s.memory_shared", run->c->suite->name);
	run_value(run, name, (double)bytes[MEMORY_SHARED]);
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

/*
 * "16 MB", or "8 MB, 12 MB, nothing" if ranks differ in the displayed digits; `stride`: from rank
 * to rank.
 */
static void classes_describe_each(struct text *out, const uint64_t *bytes, size_t stride, int ranks)
{
	char size[32];

	for (int rank = 0; rank < ranks; rank++) {
		uint64_t own = bytes[(size_t)rank * stride];

		text_addf(out, "%s%s", rank ? ", " : "",
			  own ? units_format((double)own, "B", size, sizeof(size)) : "nothing");
	}
}

/* True if the displayed digits are equal: small alignment differences do not count. */
static bool classes_shown_alike(const uint64_t *bytes, size_t stride, int ranks)
{
	char first[32], other[32];

	units_format((double)bytes[0], "B", first, sizeof(first));
	for (int rank = 1; rank < ranks; rank++)
		if (strcmp(first, units_format((double)bytes[(size_t)rank * stride], "B", other,
					       sizeof(other))) != 0)
			return false;
	return true;
}

/* The classes add up to more than the memory by the shared bytes. */
static void classes_describe_shared(struct text *out, const uint64_t (*bytes)[MEMORY_CLASS_COUNT],
				    int ranks)
{
	bool same = classes_shown_alike(&bytes[0][MEMORY_SHARED], MEMORY_CLASS_COUNT, ranks);

	if (same && !bytes[0][MEMORY_SHARED])
		return;
	text_add(out, "; of this, two classes share ");
	classes_describe_each(out, &bytes[0][MEMORY_SHARED], MEMORY_CLASS_COUNT, same ? 1 : ranks);
}

void classes_describe_ranks(struct text *out, const uint64_t (*bytes)[MEMORY_CLASS_COUNT],
			    const uint64_t *connections, int ranks)
{
	uint64_t common[MEMORY_CLASS_COUNT] = { 0 };
	int differ = 0;
	bool same;

	for (int c = 0; c < MEMORY_STEP_CLASSES; c++)
		if (classes_shown_alike(&bytes[0][c], MEMORY_CLASS_COUNT, ranks))
			common[c] = bytes[0][c];
		else
			differ++;
	if (classes_total(common) || !differ)
		classes_describe(out, common);
	for (int c = 0; c < MEMORY_STEP_CLASSES; c++) {
		if (classes_shown_alike(&bytes[0][c], MEMORY_CLASS_COUNT, ranks))
			continue;
		text_addf(out, "%s%s of ranks 0 to %d: ", out->length ? "; " : "",
			  memory_class_names[c], ranks - 1);
		classes_describe_each(out, &bytes[0][c], MEMORY_CLASS_COUNT, ranks);
	}
	classes_describe_shared(out, bytes, ranks);
	same = classes_shown_alike(connections, 1, ranks);
	if (same && !connections[0])
		return;
	text_add(out, "; connections between ranks need another ");
	classes_describe_each(out, connections, 1, same ? 1 : ranks);
}
