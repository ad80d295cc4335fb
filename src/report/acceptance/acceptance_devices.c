/* Finds the checks and cases of each device once, for the tables that have a row per device. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/acceptance/acceptance.h"
#include "report/view/view.h"

struct name {
	const char *id;
	size_t device;
};

/* Pairs of a device and what concerns it, in the order of the latter. */
struct pairs {
	struct {
		size_t device, item;
	} * items;
	size_t count, capacity;
};

static int acceptance_devices_by_id(const void *a, const void *b)
{
	return strcmp(((const struct name *)a)->id, ((const struct name *)b)->id);
}

static void acceptance_devices_add_pair(struct pairs *pairs, const struct name *names, size_t count,
					const char *id, size_t item)
{
	const struct name wanted = { .id = id },
			  *found = bsearch(&wanted, names, count, sizeof(*names),
					   acceptance_devices_by_id);

	if (!found)
		return;
	ARRAY_GROW(pairs->items, pairs->count, pairs->capacity);
	pairs->items[pairs->count].device = found->device;
	pairs->items[pairs->count++].item = item;
}

/* Takes over the pairs. */
static struct device_items acceptance_devices_items_of(struct pairs *pairs, size_t devices)
{
	struct device_items out = { .starts = xcalloc(devices + 2, sizeof(*out.starts)),
				    .items = xcalloc(pairs->count + 1, sizeof(*out.items)) };

	for (size_t i = 0; i < pairs->count; i++)
		out.starts[pairs->items[i].device + 2]++;
	for (size_t d = 2; d < devices + 2; d++)
		out.starts[d] += out.starts[d - 1];
	for (size_t i = 0; i < pairs->count; i++)
		out.items[out.starts[pairs->items[i].device + 1]++] = pairs->items[i].item;
	free(pairs->items);
	return out;
}

void acceptance_devices_find(struct acceptance_devices *found, const struct acceptance *a)
{
	const struct result *r = a->result;
	struct name *names = xcalloc(r->device_count + 1, sizeof(*names));
	struct pairs checks = { 0 }, cases = { 0 };

	for (size_t i = 0; i < r->device_count; i++)
		names[i] = (struct name){ r->devices[i].id, i };
	qsort(names, r->device_count, sizeof(*names), acceptance_devices_by_id);
	for (size_t i = 0; i < r->judgement->count; i++) {
		char *devices = xstrdup(r->judgement->checks[i].devices), *rest = devices, *id;

		while ((id = strsep(&rest, ",")))
			acceptance_devices_add_pair(&checks, names, r->device_count, id, i);
		free(devices);
	}
	for (size_t i = 0; i < r->case_count; i++)
		for (size_t d = 0; d < r->cases[i].device_count; d++)
			acceptance_devices_add_pair(&cases, names, r->device_count,
						    view_string(r->cases[i].devices[d]), i);
	found->checks = acceptance_devices_items_of(&checks, r->device_count);
	found->cases = acceptance_devices_items_of(&cases, r->device_count);
	free(names);
}

void acceptance_devices_release(struct acceptance_devices *found)
{
	free(found->checks.starts);
	free(found->checks.items);
	free(found->cases.starts);
	free(found->cases.items);
}
