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

/* Takes over both texts. */
static void drift_add_fact(struct drift *d, size_t node, char *name, char *value)
{
	ARRAY_GROW(d->facts, d->count, d->capacity);
	d->facts[d->count++] = (struct drift_fact){ name, value, node };
}

static const char *const device_facts[] = {
	"memory", "highest clocks", "PCIe link", "NVLink links", "ECC", "VBIOS", "multiprocessors"
};

/* One fact of a device; malloc'ed. */
static char *drift_device_fact(const struct device_info *d, size_t which)
{
	char clock[48], memory[48];

	switch (which) {
	case 0:
		return xstrdup(units_format((double)d->memory_bytes, "B", memory, sizeof(memory)));
	case 1:
		return xasprintf("%s, memory %s",
				 units_format(d->clock_hz, "Hz", clock, sizeof(clock)),
				 units_format(d->memory_clock_hz, "Hz", memory, sizeof(memory)));
	case 2:
		return xasprintf("generation %d x%d", d->pcie_generation_max, d->pcie_width_max);
	case 3:
		return xasprintf("%d", d->nvlink_count);
	case 4:
		return xstrdup(d->ecc < 0 ? "unknown" : d->ecc ? "on" : "off");
	case 5:
		return xstrdup(*d->vbios ? d->vbios : "unknown");
	default:
		return xasprintf("%d", d->multiprocessors);
	}
}

/* One value for all devices of the model of the `first`, or all of them: "18, 18, 17, 18". */
static void drift_add_of_devices(struct drift *d, size_t node, const struct result *own,
				 size_t first, size_t which)
{
	const char *model = own->devices[first].name;
	char *value = drift_device_fact(&own->devices[first], which);
	struct text all = TEXT_EMPTY;
	bool same = true;

	for (size_t i = first; i < own->device_count; i++) {
		char *other;

		if (strcmp(own->devices[i].name, model) != 0)
			continue;
		other = drift_device_fact(&own->devices[i], which);
		same = same && strcmp(value, other) == 0;
		text_addf(&all, "%s%s", all.length ? ", " : "", other);
		free(other);
	}
	drift_add_fact(d, node, xasprintf("%s of %s", device_facts[which], model),
		       xstrdup(same ? value : all.data));
	text_release(&all);
	free(value);
}

void drift_take(struct drift *d, size_t index, const struct result *own)
{
	ARRAY_GROW(d->nodes, d->node_count, d->node_capacity);
	d->nodes[d->node_count++] = index;
	for (size_t i = 0; i < own->environment_count; i++) {
		const struct fact *fact = &own->environment[i];
		size_t k = 0;

		while (k < ARRAY_SIZE(own_facts) && fnmatch(own_facts[k], fact->name, 0) != 0)
			k++;
		if (k == ARRAY_SIZE(own_facts))
			drift_add_fact(d, index, xstrdup(fact->name), xstrdup(fact->value));
	}
	/* The facts of each model among the devices. */
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
		drift_add_fact(d, index, xasprintf("number of %s", name), xasprintf("%zu", count));
		for (size_t which = 0; which < ARRAY_SIZE(device_facts); which++)
			drift_add_of_devices(d, index, own, i, which);
	}
}

static int drift_by_fact_and_node(const void *a, const void *b)
{
	const struct drift_fact *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	order = order ? order : strcmp(x->value, y->value);
	return order ? order : (x->node > y->node) - (x->node < y->node);
}

/* "270.3 GB" and "270.1 GB" are no drift, "580.159" and "580.95" are. */
static bool drift_values_agree(const char *a, const char *b)
{
	char *after_a, *after_b;
	double x = strtod(a, &after_a), y = strtod(b, &after_b);

	return strcmp(a, b) == 0 ||
	       (after_a != a && *after_a == ' ' && strcmp(after_a, after_b) == 0 &&
		fabs(x - y) <= NEAR * fabs(x));
}

static void drift_add_warning(struct result *result, size_t node, const char *name, char *text)
{
	struct finding *f;

	result->preflight = xrealloc(result->preflight, result->preflight_count + 1,
				     sizeof(*result->preflight));
	f = &result->preflight[result->preflight_count++];
	*f = (struct finding){ .severity = SEVERITY_WARNING };
	finding_set_subject(f, FINDING_DRIFT, "");
	snprintf(f->subject, sizeof(f->subject), "drift of %.80s on %.63s", name,
		 result->nodes[node].name);
	snprintf(f->node, sizeof(f->node), "%s", result->nodes[node].name);
	snprintf(f->text, sizeof(f->text), "%s", text);
	free(text);
}

/* Facts [from, to) have the same name and are sorted by value. */
static void drift_tell_fact(const struct drift *d, size_t from, size_t to, struct result *result)
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
		if (!drift_values_agree(facts[i].value, facts[common].value))
			drift_add_warning(result, facts[i].node, facts[i].name,
					  xasprintf("%.100s, but %.100s on %zu of %zu nodes",
						    facts[i].value, facts[common].value, most,
						    d->node_count));
	for (size_t i = 0; i < d->node_count && 2 * most > d->node_count; i++)
		if (!has[d->nodes[i]])
			drift_add_warning(result, d->nodes[i], facts[common].name,
					  xasprintf("missing; %zu of %zu nodes have %.100s", most,
						    d->node_count, facts[common].value));
	/* A few nodes have a fact that most lack. */
	for (size_t i = from; i < to && 2 * (to - from) < d->node_count; i++)
		drift_add_warning(result, facts[i].node, facts[i].name,
				  xasprintf("%.100s; missing on %zu of %zu nodes", facts[i].value,
					    d->node_count - (to - from), d->node_count));
	free(has);
}

void drift_tell(struct drift *d, struct result *result)
{
	if (d->count)
		qsort(d->facts, d->count, sizeof(*d->facts), drift_by_fact_and_node);
	for (size_t from = 0, to; from < d->count && d->node_count >= FEWEST_NODES; from = to) {
		for (to = from;
		     to < d->count && strcmp(d->facts[to].name, d->facts[from].name) == 0;)
			to++;
		drift_tell_fact(d, from, to, result);
	}
	for (size_t i = 0; i < d->count; i++) {
		free(d->facts[i].name);
		free(d->facts[i].value);
	}
	free(d->facts);
	free(d->nodes);
	memset(d, 0, sizeof(*d));
}
