#include "fleet/drift.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"

#define FEWEST_NODES 3
#define NEAR 0.01 /* by which quantities may differ: what a kernel keeps for itself */

/* Facts that are a node's own, and differ where all is well. */
static const char *const own_facts[] = { "hostname", "env *VISIBLE_DEVICES", "env SLURM_*",
					 "env *_HOSTID" };

static bool is_own(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(own_facts); i++)
		if (fnmatch(own_facts[i], name, 0) == 0)
			return true;
	return false;
}

/* Takes over both texts. */
static void add(struct drift *d, size_t node, char *name, char *value)
{
	ARRAY_GROW(d->facts, d->count, d->capacity);
	d->facts[d->count++] = (struct drift_fact){ name, value, node };
}

/* One value for all devices of the model, or all of them: "18, 18, 17, 18". */
static void add_of_devices(struct drift *d, size_t node, const struct result *own, size_t first,
			   const char *what, char *(*describe)(const struct device_info *))
{
	const struct device_info *model = &own->devices[first];
	char *value = describe(model);
	struct text all = TEXT_EMPTY;
	bool same = true;

	for (size_t i = first; i < own->device_count; i++) {
		char *other;

		if (strcmp(own->devices[i].name, model->name) != 0)
			continue;
		other = describe(&own->devices[i]);
		same = same && strcmp(value, other) == 0;
		text_addf(&all, "%s%s", all.length ? ", " : "", other);
		free(other);
	}
	add(d, node, xasprintf("%s of %s", what, model->name), xstrdup(same ? value : all.data));
	text_release(&all);
	free(value);
}

static char *describe_memory(const struct device_info *d)
{
	char text[48];

	return xstrdup(units_format((double)d->memory_bytes, "B", text, sizeof(text)));
}

static char *describe_clocks(const struct device_info *d)
{
	char clock[48], memory[48];

	return xasprintf("%s, memory %s", units_format(d->clock_hz, "Hz", clock, sizeof(clock)),
			 units_format(d->memory_clock_hz, "Hz", memory, sizeof(memory)));
}

static char *describe_link(const struct device_info *d)
{
	return xasprintf("generation %d x%d", d->pcie_generation_max, d->pcie_width_max);
}

static char *describe_nvlink(const struct device_info *d)
{
	return xasprintf("%d", d->nvlink_count);
}

static char *describe_ecc(const struct device_info *d)
{
	return xstrdup(d->ecc < 0 ? "unknown" : d->ecc ? "on" : "off");
}

static char *describe_vbios(const struct device_info *d)
{
	return xstrdup(*d->vbios ? d->vbios : "unknown");
}

static char *describe_processors(const struct device_info *d)
{
	return xasprintf("%d", d->multiprocessors);
}

/* The facts of each model among the devices. */
static void take_devices(struct drift *d, size_t node, const struct result *own)
{
	static const struct {
		const char *what;
		char *(*describe)(const struct device_info *);
	} rows[] = { { "memory", describe_memory },
		     { "highest clocks", describe_clocks },
		     { "PCIe link", describe_link },
		     { "NVLink links", describe_nvlink },
		     { "ECC", describe_ecc },
		     { "VBIOS", describe_vbios },
		     { "multiprocessors", describe_processors } };

	for (size_t i = 0; i < own->device_count; i++) {
		const char *name = own->devices[i].name;
		size_t count = 0, before = 0;

		for (size_t k = 0; k < own->device_count; k++) {
			bool same = strcmp(own->devices[k].name, name) == 0;

			count += same;
			before += same && k < i;
		}
		if (before)
			continue;
		add(d, node, xasprintf("number of %s", name), xasprintf("%zu", count));
		for (size_t r = 0; r < ARRAY_SIZE(rows); r++)
			add_of_devices(d, node, own, i, rows[r].what, rows[r].describe);
	}
}

void drift_take(struct drift *d, size_t index, const struct result *own)
{
	ARRAY_GROW(d->nodes, d->node_count, d->node_capacity);
	d->nodes[d->node_count++] = index;
	for (size_t i = 0; i < own->environment_count; i++)
		if (!is_own(own->environment[i].name))
			add(d, index, xstrdup(own->environment[i].name),
			    xstrdup(own->environment[i].value));
	take_devices(d, index, own);
}

static int by_name(const void *a, const void *b)
{
	const struct drift_fact *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	order = order ? order : strcmp(x->value, y->value);
	return order ? order : (x->node > y->node) - (x->node < y->node);
}

/* "270.3 GB" and "270.1 GB" are no drift, "580.159" and "580.95" are. */
static bool alike(const char *a, const char *b)
{
	char *after_a, *after_b;
	double x = strtod(a, &after_a), y = strtod(b, &after_b);

	return strcmp(a, b) == 0 ||
	       (after_a != a && *after_a == ' ' && strcmp(after_a, after_b) == 0 &&
		fabs(x - y) <= NEAR * fabs(x));
}

static void warn(struct result *result, size_t node, const char *name, char *text)
{
	struct finding *f;

	result->preflight = xrealloc(result->preflight, result->preflight_count + 1,
				     sizeof(*result->preflight));
	f = &result->preflight[result->preflight_count++];
	*f = (struct finding){ .severity = SEVERITY_WARNING };
	snprintf(f->subject, sizeof(f->subject), "drift of %.80s %.63s", name,
		 result->nodes[node].name);
	snprintf(f->text, sizeof(f->text), "%s", text);
	free(text);
}

/* Facts [from, to) have one name; those of a value are in a row. */
static void tell_fact(const struct drift *d, size_t from, size_t to, struct result *result)
{
	const struct drift_fact *facts = d->facts;
	size_t most = 0, common = from;
	bool *has = xcalloc(result->node_count + 1, sizeof(*has));

	for (size_t i = from, begin = from; i < to; i++) {
		begin = strcmp(facts[i].value, facts[begin].value) == 0 ? begin : i;
		if (i - begin + 1 > most)
			most = i - begin + 1, common = begin;
	}
	for (size_t i = from; i < to; i++)
		has[facts[i].node] = true;
	for (size_t i = from; i < to && 2 * most > d->node_count; i++)
		if (!alike(facts[i].value, facts[common].value))
			warn(result, facts[i].node, facts[i].name,
			     xasprintf("%.100s, not %.100s as on %zu of %zu nodes", facts[i].value,
				       facts[common].value, most, d->node_count));
	for (size_t i = 0; i < d->node_count && 2 * most > d->node_count; i++)
		if (!has[d->nodes[i]])
			warn(result, d->nodes[i], facts[common].name,
			     xasprintf("none, where %zu of %zu nodes have %.100s", most,
				       d->node_count, facts[common].value));
	/* Some have set what most have not. */
	for (size_t i = from; i < to && 2 * (to - from) < d->node_count; i++)
		warn(result, facts[i].node, facts[i].name,
		     xasprintf("%.100s, where %zu of %zu nodes have none", facts[i].value,
			       d->node_count - (to - from), d->node_count));
	free(has);
}

void drift_tell(struct drift *d, struct result *result)
{
	if (d->count)
		qsort(d->facts, d->count, sizeof(*d->facts), by_name);
	for (size_t from = 0, to; from < d->count && d->node_count >= FEWEST_NODES; from = to) {
		for (to = from;
		     to < d->count && strcmp(d->facts[to].name, d->facts[from].name) == 0;)
			to++;
		tell_fact(d, from, to, result);
	}
	for (size_t i = 0; i < d->count; i++) {
		free(d->facts[i].name);
		free(d->facts[i].value);
	}
	free(d->facts);
	free(d->nodes);
	memset(d, 0, sizeof(*d));
}
