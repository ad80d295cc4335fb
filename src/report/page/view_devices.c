/* The devices of all results: the facts that they share, and those that differ. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/page/view_sections.h"
#include "report/view/format.h"
#include "report/view/view.h"

#define MOST_NODES 8 /* of a table that is not folded */

struct device_row {
	const char *name;
	void (*format)(const struct device_info *d, char *out, size_t size);
};

static void devices_page_format_model(const struct device_info *d, char *out, size_t size)
{
	snprintf(out, size, "%s", d->name);
}

static void devices_page_format_backend(const struct device_info *d, char *out, size_t size)
{
	snprintf(out, size, "%s (%s)", d->backend, d->module);
}

static void devices_page_format_capability(const struct device_info *d, char *out, size_t size)
{
	if (d->capability_major)
		snprintf(out, size, "%d.%d%s%s", d->capability_major, d->capability_minor,
			 d->emulated_on[0] ? ", emulated on " : "", d->emulated_on);
}

static void devices_page_format_cores(const struct device_info *d, char *out, size_t size)
{
	if (d->multiprocessors)
		snprintf(out, size, "%d", d->multiprocessors);
}

static void devices_page_format_memory(const struct device_info *d, char *out, size_t size)
{
	if (d->memory_bytes)
		snprintf(out, size, "%.1f GiB", (double)d->memory_bytes / 0x1p30);
}

static void format_l2(const struct device_info *d, char *out, size_t size)
{
	if (d->l2_bytes)
		snprintf(out, size, "%.1f MiB", (double)d->l2_bytes / 0x1p20);
}

static void devices_page_format_clocks(const struct device_info *d, char *out, size_t size)
{
	char clock[FORMAT_SIZE], memory[FORMAT_SIZE];

	if (d->clock_hz > 0)
		snprintf(out, size, "%s%s%s",
			 format_quantity(d->clock_hz, "Hz", clock, sizeof(clock)),
			 d->memory_clock_hz > 0 ? ", memory " : "",
			 d->memory_clock_hz > 0
				 ? format_quantity(d->memory_clock_hz, "Hz", memory, sizeof(memory))
				 : "");
}

static void format_bus(const struct device_info *d, char *out, size_t size)
{
	if (d->memory_bus_bits)
		snprintf(out, size, "%d bit", d->memory_bus_bits);
}

static void devices_page_format_pcie(const struct device_info *d, char *out, size_t size)
{
	if (d->pcie_generation)
		snprintf(out, size, "generation %d x%d (at most %d x%d)", d->pcie_generation,
			 d->pcie_width, d->pcie_generation_max, d->pcie_width_max);
}

static void devices_page_format_ecc(const struct device_info *d, char *out, size_t size)
{
	if (d->ecc >= 0)
		snprintf(out, size, "%s", d->ecc ? "on" : "off");
}

static void devices_page_format_nvlink(const struct device_info *d, char *out, size_t size)
{
	if (d->nvlink_count)
		snprintf(out, size, "%d links", d->nvlink_count);
}

static void devices_page_format_numa(const struct device_info *d, char *out, size_t size)
{
	if (d->numa_node >= 0)
		snprintf(out, size, "%d", d->numa_node);
}

static void format_pci(const struct device_info *d, char *out, size_t size)
{
	snprintf(out, size, "%s", d->pci);
}

static void device_format_uuid(const struct device_info *d, char *out, size_t size)
{
	snprintf(out, size, "%s", d->uuid);
}

static void format_serial(const struct device_info *d, char *out, size_t size)
{
	snprintf(out, size, "%s", d->serial);
}

/* One row per fact; a row that no device fills is left out. */
static const struct device_row device_rows[] = {
	{ "Model", devices_page_format_model },
	{ "Backend", devices_page_format_backend },
	{ "Compute capability", devices_page_format_capability },
	{ "Multiprocessors or cores", devices_page_format_cores },
	{ "Memory", devices_page_format_memory },
	{ "L2 cache", format_l2 },
	{ "Highest clock", devices_page_format_clocks },
	{ "Memory bus", format_bus },
	{ "PCIe", devices_page_format_pcie },
	{ "NVLink", devices_page_format_nvlink },
	{ "ECC", devices_page_format_ecc },
	{ "NUMA node", devices_page_format_numa },
	{ "PCI address", format_pci },
	{ "UUID", device_format_uuid },
	{ "Serial number", format_serial },
};

static size_t device_total(const struct view *view)
{
	size_t total = 0;

	for (size_t r = 0; r < view->count; r++)
		total += view->results[r].device_count;
	return total;
}

/* A fact of all devices. */
struct device_fact {
	const char *name;
	char (*texts)[256]; /* by device; the caller frees it */
	bool known;         /* of any device */
	bool same;          /* of all */
};

/* Devices are listed as the results describe them, also those that ran no case of their own. */
static struct device_fact device_fact_of(const struct view *view, const struct device_row *row)
{
	struct device_fact fact = { .name = row->name, .same = true };
	size_t at = 0;

	fact.texts = xcalloc(device_total(view) + 1, sizeof(*fact.texts));
	for (size_t r = 0; r < view->count; r++)
		for (size_t d = 0; d < view->results[r].device_count; d++, at++) {
			row->format(&view->results[r].devices[d], fact.texts[at],
				    sizeof(fact.texts[at]));
			fact.known = fact.known || fact.texts[at][0];
			fact.same = fact.same && strcmp(fact.texts[at], fact.texts[0]) == 0;
		}
	return fact;
}

/* The nodes that are whole, or those that are not; `folded` is the summary of a fold, "": none. */
static void devices_page_node_table(const struct result *result, bool whole, bool other,
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

void view_nodes(const struct view *view, struct tree *page)
{
	const struct result *result = view->results;
	size_t lost = view->count == 1 ? result_lost_nodes(result) : 0;
	struct tree *tables;
	char words[FORMAT_SIZE];

	tree_flag(page, "has_nodes", view->count == 1 && result->node_count != 0);
	if (view->count != 1 || !result->node_count)
		return;
	tables = tree_list(page, "node_tables");
	snprintf(words, sizeof(words), "The %zu whole nodes", result->node_count - lost);
	if (result->node_count <= MOST_NODES) {
		devices_page_node_table(result, true, true, "", tables);
	} else {
		if (lost)
			devices_page_node_table(result, false, true, "", tables);
		if (lost < result->node_count)
			devices_page_node_table(result, true, false, words, tables);
	}
	tree_textf(page, "nodes_whole", "%zu", result->node_count - lost);
	tree_textf(page, "nodes_all", "%zu", result->node_count);
}

static char *device_label(const struct view *view, size_t run, size_t device)
{
	char letter[4];

	return xasprintf("%s%s%s", view->count > 1 ? view_letter(run, letter) : "",
			 view->count > 1 ? " " : "", view->results[run].devices[device].id);
}

/* A row per device, of the facts that are not the same of all. */
static void devices_add_rows(const struct view *view, const struct device_fact *facts, size_t count,
			     struct tree *page)
{
	struct tree *columns = tree_list(page, "device_facts"),
		    *rows = tree_list(page, "device_list");
	size_t at = 0;

	for (size_t i = 0; i < count; i++)
		if (facts[i].known && !facts[i].same)
			tree_item_text(columns, facts[i].name);
	for (size_t r = 0; columns->count && r < view->count; r++)
		for (size_t d = 0; d < view->results[r].device_count; d++, at++) {
			struct tree *row = tree_item(rows), *cells;

			tree_text_owned(row, "label", device_label(view, r, d));
			cells = tree_list(row, "cells");
			for (size_t i = 0; i < count; i++)
				if (facts[i].known && !facts[i].same)
					tree_item_text(cells, facts[i].texts[at][0]
								      ? facts[i].texts[at]
								      : "–");
		}
	tree_flag(page, "has_device_list", rows->count != 0);
}

void view_devices_table(const struct view *view, struct tree *page)
{
	struct tree *rows = tree_list(page, "device_rows");
	struct device_fact facts[ARRAY_SIZE(device_rows)];
	size_t total = device_total(view);

	tree_flag(page, "has_devices", total != 0);
	tree_textf(page, "device_scope", total == 1 ? "The device" : "All %zu devices", total);
	for (size_t i = 0; i < ARRAY_SIZE(facts); i++) {
		struct tree *row;

		facts[i] = device_fact_of(view, &device_rows[i]);
		if (!facts[i].known || !facts[i].same)
			continue;
		row = tree_item(rows);
		tree_text(row, "name", facts[i].name);
		tree_text(row, "value", facts[i].texts[0]);
	}
	devices_add_rows(view, facts, ARRAY_SIZE(facts), page);
	for (size_t i = 0; i < ARRAY_SIZE(facts); i++)
		free(facts[i].texts);
}
