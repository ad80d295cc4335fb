/*
 * Differences between the environments of two measurements.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/former_names.h"
#include "base/memory.h"
#include "base/units.h"
#include "compare/comparing.h"

#define CLOCK_MARGIN 0.01

static void compare_environment_add(struct comparison *out, const char *name, const char *a,
				    const char *b)
{
	/* Strings of a result in memory may be NULL. */
	a = a ? a : "";
	b = b ? b : "";
	if (strcmp(a, b) == 0)
		return;
	ARRAY_GROW(out->differences, out->difference_count, out->difference_capacity);
	out->differences[out->difference_count++] =
		(struct difference){ .name = xstrdup(name), .a = xstrdup(a), .b = xstrdup(b) };
}

/* The difference "SUBJECT WHAT": "cuda:0 maximum clock". */
static void compare_environment_add_of(struct comparison *out, const char *subject,
				       const char *what, const char *a, const char *b)
{
	char *name = xasprintf("%s %s", subject, what);

	compare_environment_add(out, name, a, b);
	free(name);
}

static const char *compare_environment_fact(const struct result *r, const char *name)
{
	for (size_t i = 0; i < r->environment_count; i++)
		if (strcmp(r->environment[i].name, name) == 0)
			return r->environment[i].value;
	return COMPARE_MISSING;
}

static void compare_environment_device(const struct device_info *a, const struct device_info *b,
				       struct comparison *out)
{
	char before[96], after[96];

	compare_environment_add_of(out, a->id, "name", a->name, b->name);
	compare_environment_add_of(out, a->id, "uuid", a->uuid, b->uuid);
	compare_environment_add_of(out, a->id, "id", a->id, b->id);
	compare_environment_add_of(out, a->id, "module", a->module, b->module);
	compare_environment_add_of(out, a->id, "ECC",
				   a->ecc > 0 ? "on"
				   : a->ecc   ? COMPARE_MISSING
					      : "off",
				   b->ecc > 0 ? "on"
				   : b->ecc   ? COMPARE_MISSING
					      : "off");
	snprintf(before, sizeof(before), "generation %d, x%d", a->pcie_generation_max,
		 a->pcie_width_max);
	snprintf(after, sizeof(after), "generation %d, x%d", b->pcie_generation_max,
		 b->pcie_width_max);
	compare_environment_add_of(out, a->id, "maximum PCIe link", before, after);
	compare_environment_add_of(out, a->id, "maximum clock",
				   units_format(a->clock_hz, "Hz", before, sizeof(before)),
				   units_format(b->clock_hz, "Hz", after, sizeof(after)));
}

static void compare_environment_devices(const struct result *a, const struct result *b,
					struct comparison *out)
{
	for (size_t i = 0; i < a->device_count; i++) {
		const char *id = compared_device(a, b, a->devices[i].id);
		const struct device_info *other = id ? result_device(b, id) : NULL;

		if (other)
			compare_environment_device(&a->devices[i], other, out);
		else
			compare_environment_add(out, a->devices[i].id, a->devices[i].name,
						COMPARE_MISSING);
	}
	for (size_t i = 0; i < b->device_count; i++) {
		const char *id = compared_device(b, a, b->devices[i].id);

		if (!id || !result_device(a, id))
			compare_environment_add(out, b->devices[i].id, COMPARE_MISSING,
						b->devices[i].name);
	}
}

/*
 * True for settings that affect the measurement: not page titles, not limits. The number of
 * launches is shown with every ratio, and an interleaved comparison takes one launch per side at a
 * time.
 */
static bool compare_environment_matters(const struct result_setting *s)
{
	static const char *const of_launches[] = { "launches", "launch_target", "launches_most" };

	for (size_t i = 0; i < ARRAY_SIZE(of_launches); i++)
		if (strcmp(s->section, "run") == 0 && strcmp(s->key, of_launches[i]) == 0)
			return false;
	return strcmp(s->section, "report") != 0 && strncmp(s->section, "limit", 5) != 0 &&
	       strcmp(s->key, "label") != 0 && strcmp(s->key, "verdict") != 0;
}

/* True for a key at its default that only the older version has: not a difference. */
static bool compare_environment_is_retired(const struct result_setting *s)
{
	char suite[32];

	return s->origin && strcmp(s->origin, "default") == 0 &&
	       sscanf(s->section, "suite %31s", suite) == 1 &&
	       former_names_key_is_retired(suite, s->key);
}

static void compare_environment_setting(const struct result_setting *s, const char *a,
					const char *b, struct comparison *out)
{
	char *name = xasprintf("[%s] %s", s->section, s->key);

	compare_environment_add(out, name, a, b);
	free(name);
}

static bool compare_environment_has(const struct result *r, const char *section)
{
	for (size_t i = 0; i < r->setting_count; i++)
		if (strcmp(r->settings[i].section, section) == 0)
			return true;
	return false;
}

/* Reports a section that only one side has in one line. */
static void compare_environment_sections(const struct result *a, const struct result *b, bool first,
					 struct comparison *out)
{
	for (size_t i = 0; i < a->setting_count; i++) {
		const struct result_setting *s = &a->settings[i];
		char *name;

		if ((i && strcmp(s->section, a->settings[i - 1].section) == 0) ||
		    !compare_environment_matters(s) || compare_environment_has(b, s->section))
			continue;
		name = xasprintf("[%s]", s->section);
		compare_environment_add(out, name, first ? "there" : COMPARE_MISSING,
					first ? COMPARE_MISSING : "there");
		free(name);
	}
}

static void compare_environment_settings(const struct result *a, const struct result *b,
					 struct comparison *out)
{
	compare_environment_sections(a, b, true, out);
	compare_environment_sections(b, a, false, out);
	for (size_t i = 0; i < a->setting_count; i++) {
		const struct result_setting *s = &a->settings[i];
		const struct result_setting *other = result_setting(b, s->section, s->key);

		if (compare_environment_matters(s) &&
		    (other || !compare_environment_is_retired(s)) &&
		    compare_environment_has(b, s->section))
			compare_environment_setting(s, s->value,
						    other ? other->value : COMPARE_MISSING, out);
	}
	for (size_t i = 0; i < b->setting_count; i++) {
		const struct result_setting *s = &b->settings[i];

		if (compare_environment_matters(s) && !compare_environment_is_retired(s) &&
		    !result_setting(a, s->section, s->key) &&
		    compare_environment_has(a, s->section))
			compare_environment_setting(s, COMPARE_MISSING, s->value, out);
	}
}

struct device_clock {
	const char *device;
	double sum;
	size_t cases;
};

static int compare_environment_by_device(const void *a, const void *b)
{
	return strcmp(((const struct device_clock *)a)->device,
		      ((const struct device_clock *)b)->device);
}

/*
 * SM clock after the cases of each device of the first result, sorted by device. One pass, because
 * a multi-node result has thousands of devices. The caller frees the array.
 */
static struct device_clock *compare_environment_clocks_of(const struct result *results,
							  size_t count)
{
	size_t devices = results[0].device_count;
	struct device_clock *clocks = xcalloc(devices, sizeof(*clocks));

	for (size_t i = 0; i < devices; i++)
		clocks[i].device = results[0].devices[i].id;
	qsort(clocks, devices, sizeof(*clocks), compare_environment_by_device);
	for (size_t r = 0; r < count; r++)
		for (size_t i = 0; i < results[r].case_count; i++) {
			const struct case_result *c = &results[r].cases[i];
			struct device_clock wanted = { .device = c->device }, *clock;

			if (!c->device || !(c->after.sm_clock_hz > 0))
				continue;
			clock = bsearch(&wanted, clocks, devices, sizeof(*clocks),
					compare_environment_by_device);
			if (clock) {
				clock->sum += c->after.sm_clock_hz;
				clock->cases++;
			}
		}
	return clocks;
}

/* Mean SM clock after the cases of `device`; 0: unknown. */
static double compare_environment_mean_clock(const struct device_clock *clocks, size_t count,
					     const char *device)
{
	struct device_clock wanted = { .device = device };
	const struct device_clock *clock =
		bsearch(&wanted, clocks, count, sizeof(*clocks), compare_environment_by_device);

	return clock && clock->cases ? clock->sum / (double)clock->cases : 0;
}

static void compare_environment_clocks(const struct comparison_input *input, struct comparison *out)
{
	struct device_clock *of_a = compare_environment_clocks_of(input->a, input->a_count);
	struct device_clock *of_b = compare_environment_clocks_of(input->b, input->b_count);

	for (size_t i = 0; i < input->a[0].device_count; i++) {
		const char *id = input->a[0].devices[i].id;
		const char *other = compared_device(input->a, input->b, id);
		double a = compare_environment_mean_clock(of_a, input->a[0].device_count, id);
		double b = other ? compare_environment_mean_clock(of_b, input->b[0].device_count,
								  other)
				 : 0;
		char before[48], after[48];

		if (!(a > 0 && b > 0) || fabs(b / a - 1) <= CLOCK_MARGIN)
			continue;
		compare_environment_add_of(out, id, "mean clock under load",
					   units_format(a, "Hz", before, sizeof(before)),
					   units_format(b, "Hz", after, sizeof(after)));
	}
	free(of_a);
	free(of_b);
}

void compare_environments(const struct comparison_input *input, struct comparison *out)
{
	const struct result *a = &input->a[0], *b = &input->b[0];
	char before[32], after[32];

	compare_environment_add(out, "gpuproof", a->gpuproof_version, b->gpuproof_version);
	compare_environment_devices(a, b, out);
	compare_environment_clocks(input, out);
	for (size_t i = 0; i < a->environment_count; i++)
		compare_environment_add(out, a->environment[i].name, a->environment[i].value,
					compare_environment_fact(b, a->environment[i].name));
	for (size_t i = 0; i < b->environment_count; i++)
		if (strcmp(compare_environment_fact(a, b->environment[i].name), COMPARE_MISSING) ==
		    0)
			compare_environment_add(out, b->environment[i].name, COMPARE_MISSING,
						b->environment[i].value);
	compare_environment_settings(a, b, out);
	snprintf(before, sizeof(before), "%zu", input->a_count);
	snprintf(after, sizeof(after), "%zu", input->b_count);
	compare_environment_add(out, "results", before, after);
}
