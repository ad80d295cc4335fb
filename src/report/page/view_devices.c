/* The devices of all results side by side, a row for each fact. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/view/format.h"
#include "report/view/view.h"

struct device_row {
	const char *name;
	void (*format)(const struct device_info *d, char *out, size_t size);
};

static void format_model(const struct device_info *d, char *out, size_t size)
{
	snprintf(out, size, "%s", d->name);
}

static void format_backend(const struct device_info *d, char *out, size_t size)
{
	snprintf(out, size, "%s (%s)", d->backend, d->module);
}

static void format_capability(const struct device_info *d, char *out, size_t size)
{
	if (d->capability_major)
		snprintf(out, size, "%d.%d%s%s", d->capability_major, d->capability_minor,
			 d->emulated_on[0] ? ", emulated on " : "", d->emulated_on);
}

static void format_cores(const struct device_info *d, char *out, size_t size)
{
	if (d->multiprocessors)
		snprintf(out, size, "%d", d->multiprocessors);
}

static void format_memory(const struct device_info *d, char *out, size_t size)
{
	if (d->memory_bytes)
		snprintf(out, size, "%.1f GiB", (double)d->memory_bytes / 0x1p30);
}

static void format_l2(const struct device_info *d, char *out, size_t size)
{
	if (d->l2_bytes)
		snprintf(out, size, "%.1f MiB", (double)d->l2_bytes / 0x1p20);
}

static void format_clocks(const struct device_info *d, char *out, size_t size)
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

static void format_pcie(const struct device_info *d, char *out, size_t size)
{
	if (d->pcie_generation)
		snprintf(out, size, "generation %d x%d (at most %d x%d)", d->pcie_generation,
			 d->pcie_width, d->pcie_generation_max, d->pcie_width_max);
}

static void format_ecc(const struct device_info *d, char *out, size_t size)
{
	if (d->ecc >= 0)
		snprintf(out, size, "%s", d->ecc ? "on" : "off");
}

static void format_nvlink(const struct device_info *d, char *out, size_t size)
{
	if (d->nvlink_count)
		snprintf(out, size, "%d links", d->nvlink_count);
}

static void format_numa(const struct device_info *d, char *out, size_t size)
{
	if (d->numa_node >= 0)
		snprintf(out, size, "%d", d->numa_node);
}

static void format_pci(const struct device_info *d, char *out, size_t size)
{
	snprintf(out, size, "%s", d->pci);
}

static void format_uuid(const struct device_info *d, char *out, size_t size)
{
	snprintf(out, size, "%s", d->uuid);
}

static void format_serial(const struct device_info *d, char *out, size_t size)
{
	snprintf(out, size, "%s", d->serial);
}

/* One row per fact; a row that no device fills is left out. */
static const struct device_row device_rows[] = {
	{ "Model", format_model },
	{ "Backend", format_backend },
	{ "Compute capability", format_capability },
	{ "Multiprocessors or cores", format_cores },
	{ "Memory", format_memory },
	{ "L2 cache", format_l2 },
	{ "Highest clock", format_clocks },
	{ "Memory bus", format_bus },
	{ "PCIe", format_pcie },
	{ "NVLink", format_nvlink },
	{ "ECC", format_ecc },
	{ "NUMA node", format_numa },
	{ "PCI address", format_pci },
	{ "UUID", format_uuid },
	{ "Serial number", format_serial },
};

static size_t device_total(const struct view *view)
{
	size_t total = 0;

	for (size_t r = 0; r < view->count; r++)
		total += view->results[r].device_count;
	return total;
}

/*
 * Devices are listed as the results describe them, also those that ran no case of their own. What
 * all have in common is one cell.
 */
static void device_row(const struct view *view, const struct device_row *row, struct tree *rows)
{
	size_t total = device_total(view), filled = 0, at = 0, width = total;
	char(*texts)[256] = xcalloc(total + 1, sizeof(*texts));

	for (size_t r = 0; r < view->count; r++)
		for (size_t d = 0; d < view->results[r].device_count; d++, at++) {
			row->format(&view->results[r].devices[d], texts[at], sizeof(texts[at]));
			filled += texts[at][0] != '\0';
			width = strcmp(texts[at], texts[0]) == 0 ? width : 1;
		}
	if (filled) {
		struct tree *map = tree_item(rows), *cells;

		tree_text(map, "name", row->name);
		cells = tree_list(map, "cells");
		for (size_t i = 0; i < total; i += width) {
			struct tree *cell = tree_item(cells);

			tree_text(cell, "value", texts[i][0] ? texts[i] : "–");
			if (width > 1)
				tree_textf(cell, "span", "%zu", width);
		}
	}
	free(texts);
}

void view_nodes(const struct view *view, struct tree *page)
{
	const struct result *result = view->results;
	struct tree *rows;

	if (view->count != 1 || !result->node_count)
		return;
	rows = tree_list(page, "nodes");
	for (size_t i = 0; i < result->node_count; i++) {
		const struct result_node *node = &result->nodes[i];
		struct tree *row = tree_item(rows);

		tree_text(row, "name", node->name);
		tree_text(row, "status", node_status_name(node->status));
		tree_textf(row, "cases", "%zu of %zu", node->finished, node->planned);
		tree_textf(row, "reason", "%s%s%s%s", *node->lost_at ? "at " : "", node->lost_at,
			   *node->lost_at ? ": " : "", node->reason);
	}
	tree_flag(page, "has_nodes", rows->count != 0);
	tree_textf(page, "nodes_whole", "%zu", rows->count - result_lost_nodes(result));
	tree_textf(page, "nodes_all", "%zu", rows->count);
}

void view_devices_table(const struct view *view, struct tree *page)
{
	struct tree *columns = tree_list(page, "device_columns"), *rows;

	for (size_t r = 0; r < view->count; r++) {
		for (size_t d = 0; d < view->results[r].device_count; d++) {
			char letter[4];

			tree_textf(tree_item(columns), "label", "%s%s%s",
				   view->count > 1 ? view_letter(r, letter) : "",
				   view->count > 1 ? " " : "", view->results[r].devices[d].id);
		}
	}
	rows = tree_list(page, "device_rows");
	for (size_t i = 0; i < ARRAY_SIZE(device_rows); i++)
		device_row(view, &device_rows[i], rows);
	tree_flag(page, "has_devices", columns->count != 0);
}
