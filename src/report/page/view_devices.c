/* The devices of all results: the facts that they share, and those that differ. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/page/view_sections.h"

#define MOST_NODES 8  /* of a table that is not folded */
#define MOST_FACTS 15 /* of a device */

/* Facts that a device reports, in the order of the page; "": unknown. */
struct device_facts {
	struct device_fact {
		const char *name;
		char text[256];
	} items[MOST_FACTS];
	size_t count;
};

static void view_devices_add_fact(struct device_facts *f, const char *name, bool known,
				  const char *format, ...) __attribute__((format(printf, 4, 5)));
static void view_devices_add_fact(struct device_facts *f, const char *name, bool known,
				  const char *format, ...)
{
	struct device_fact *fact = &f->items[f->count++];
	va_list ap;

	fact->name = name;
	va_start(ap, format);
	if (known)
		vsnprintf(fact->text, sizeof(fact->text), format, ap);
	va_end(ap);
}

static void view_devices_collect_facts(struct device_facts *f, const struct device_info *d)
{
	view_devices_add_fact(f, "Model", true, "%s", d->name);
	view_devices_add_fact(f, "Backend", true, "%s (%s)", d->backend, d->module);
	view_devices_add_fact(f, "Compute capability", d->capability_major, "%d.%d%s%s",
			      d->capability_major, d->capability_minor,
			      d->emulated_on[0] ? ", emulated on " : "", d->emulated_on);
	view_devices_add_fact(f, "Multiprocessors or cores", d->multiprocessors, "%d",
			      d->multiprocessors);
	view_devices_add_fact(f, "Memory", d->memory_bytes, "%.1f GiB",
			      (double)d->memory_bytes / 0x1p30);
	view_devices_add_fact(f, "L2 cache", d->l2_bytes, "%.1f MiB", (double)d->l2_bytes / 0x1p20);
	view_devices_add_fact(f, "Highest clock", d->clock_hz > 0, "%s%s%s",
			      format_quantity(d->clock_hz, "Hz").text,
			      d->memory_clock_hz > 0 ? ", memory " : "",
			      d->memory_clock_hz > 0
				      ? format_quantity(d->memory_clock_hz, "Hz").text
				      : "");
	view_devices_add_fact(f, "Memory bus", d->memory_bus_bits, "%d bit", d->memory_bus_bits);
	view_devices_add_fact(f, "PCIe", d->pcie_generation, "generation %d x%d (at most %d x%d)",
			      d->pcie_generation, d->pcie_width, d->pcie_generation_max,
			      d->pcie_width_max);
	view_devices_add_fact(f, "NVLink", d->nvlink_count, "%d links", d->nvlink_count);
	view_devices_add_fact(f, "ECC", d->ecc >= 0, "%s", d->ecc ? "on" : "off");
	view_devices_add_fact(f, "NUMA node", d->numa_node >= 0, "%d", d->numa_node);
	view_devices_add_fact(f, "PCI address", true, "%s", d->pci);
	view_devices_add_fact(f, "UUID", true, "%s", d->uuid);
	view_devices_add_fact(f, "Serial number", true, "%s", d->serial);
}

/* The nodes that are whole, or those that are not; `folded` is the summary of a fold, "": none. */
static void view_devices_node_table(const struct result *result, bool whole, bool other,
				    const char *folded, struct tree *tables)
{
	struct tree *table = tree_item(tables), *rows = tree_list(table, "rows");

	tree_text(table, "folded", folded);
	for (size_t i = 0; i < result->node_count; i++) {
		const struct result_node *node = &result->nodes[i];
		struct tree *row;

		if (node->status == NODE_OK ? !whole : !other)
			continue;
		row = tree_item(rows);
		tree_text(row, "name", node->name);
		tree_text(row, "status", node_status_name(node->status));
		tree_textf(row, "cases", "%zu of %zu", node->finished, node->planned);
		tree_textf(row, "reason", "%s%s%s%s", *node->lost_at ? "at " : "", node->lost_at,
			   *node->lost_at ? ": " : "", node->reason);
	}
}

void view_devices_nodes(const struct view *view, struct tree *page)
{
	const struct result *result = view->results;
	size_t lost = view->count == 1 ? result_lost_nodes(result) : 0;
	struct tree *tables;
	char words[FORMAT_SIZE];

	if (view->count != 1 || !result->node_count)
		return;
	tables = tree_list(page, "node_tables");
	snprintf(words, sizeof(words), "The %zu whole nodes", result->node_count - lost);
	if (result->node_count <= MOST_NODES) {
		view_devices_node_table(result, true, true, "", tables);
	} else {
		if (lost)
			view_devices_node_table(result, false, true, "", tables);
		if (lost < result->node_count)
			view_devices_node_table(result, true, false, words, tables);
	}
	tree_textf(page, "nodes_whole", "%zu", result->node_count - lost);
	tree_textf(page, "nodes_all", "%zu", result->node_count);
}

/* A fact that no device has is left out; one that all share is told once. */
static void view_devices_show_fact(const struct device_facts *all, size_t total, size_t fact,
				   struct tree *page)
{
	struct tree *rows = tree_member(page, "device_list"), *row;
	const char *name = all->items[fact].name, *first = all->items[fact].text;
	bool known = false, same = true;

	for (size_t i = 0; i < total; i++) {
		known = known || *all[i].items[fact].text;
		same = same && strcmp(all[i].items[fact].text, first) == 0;
	}
	if (known && same) {
		row = tree_item(tree_member(page, "device_rows"));
		tree_text(row, "name", name);
		tree_text(row, "value", first);
	} else if (known) {
		tree_item_text(tree_member(page, "device_facts"), name);
		for (size_t i = 0; i < total; i++)
			tree_item_text(tree_member(rows->children[i], "cells"),
				       *all[i].items[fact].text ? all[i].items[fact].text : "–");
	}
}

/* Devices are listed as the results describe them, also those that ran no case of their own. */
void view_devices_table(const struct view *view, struct tree *page)
{
	struct tree *rows = tree_list(page, "device_list");
	struct device_facts *all;
	size_t total = 0, at = 0;

	tree_list(page, "device_rows");
	tree_list(page, "device_facts");
	for (size_t r = 0; r < view->count; r++)
		total += view->results[r].device_count;
	all = xcalloc(total + 1, sizeof(*all));
	for (size_t r = 0; r < view->count; r++)
		for (size_t d = 0; d < view->results[r].device_count; d++) {
			struct tree *row = tree_item(rows);

			view_devices_collect_facts(&all[at++], &view->results[r].devices[d]);
			tree_textf(row, "label", "%s%s%s",
				   view->count > 1 ? view_letter(r).text : "",
				   view->count > 1 ? " " : "", view->results[r].devices[d].id);
			tree_list(row, "cells");
		}
	for (size_t i = 0; i < all->count; i++)
		view_devices_show_fact(all, total, i, page);
	tree_textf(page, "device_scope", total == 1 ? "The device" : "All %zu devices", total);
	free(all);
}
