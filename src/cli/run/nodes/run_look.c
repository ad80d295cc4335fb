#include "cli/run/nodes/run_look.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/output/table.h"
#include "fleet/merge.h"
#include "result/result.h"

/* Opens each device and launches an empty kernel. */
static const char look_config[] = "[fleet]\n"
				  "launcher = auto\n"
				  "[defaults]\n"
				  "max_time = 20ms\n"
				  "settle_time = 0s\n"
				  "[suite selftest]\n"
				  "checks = empty\n";

/*
 * "8 x NVIDIA H200, 1 x NVIDIA L4", and the rate of the network port, "" if unknown. Starts at
 * device *at: devices are sorted by node.
 */
static char *run_look_describe_devices(const struct result *r, const struct result_node *node,
				       size_t *at, char *port, size_t size)
{
	struct text out = TEXT_EMPTY;
	size_t first = *at, end = first;

	*port = '\0';
	while (end < r->device_count && device_id_is_of_node(r->devices[end].id, node->name))
		end++;
	*at = end;
	for (size_t i = first; i < end; i++) {
		const struct device_info *d = &r->devices[i];
		size_t same = 0, before = 0;

		if (d->nic_bandwidth > 0)
			units_si(d->nic_bandwidth, "B/s", port, size);
		for (size_t k = first; k < end; k++)
			if (strcmp(r->devices[k].name, d->name) == 0)
				same++, before += k < i;
		if (!before)
			text_addf(&out, "%s%zu x %s", out.length ? ", " : "", same, d->name);
	}
	return text_detach(&out);
}

static const char *or_dash(const char *text)
{
	return text && *text ? text : "-";
}

static void look_add_node(struct output_table *table, const struct result *r,
			  const struct result_node *node, size_t *at, const char *directory)
{
	char *path = fleet_summary_path(directory, node->name), port[48];
	char *devices = run_look_describe_devices(r, node, at, port, sizeof(port));
	struct error err = ERROR_NONE;
	struct result own = { 0 };
	bool known = result_read_header(&own, path, &err) == STATUS_OK;

	TABLE_ROW(table, node->name,
		  node->status == NODE_OK ? "whole" : node_status_name(node->status),
		  or_dash(devices), or_dash(known ? result_fact(&own, "driver") : NULL),
		  or_dash(known ? result_fact(&own, "kernel") : NULL),
		  or_dash(known ? result_fact(&own, "memory") : NULL), or_dash(port));
	if (known)
		result_release(&own);
	error_clear(&err);
	free(devices);
	free(path);
}

/* `drift`: only differences between nodes; else all other warnings. Returns their number. */
static size_t run_look_print_findings(const struct result *r, bool drift)
{
	struct output_table table = TABLE_EMPTY;
	size_t count = 0;

	for (size_t i = 0; i < r->preflight_count; i++) {
		const struct finding *f = &r->preflight[i];

		if (f->severity < SEVERITY_WARNING ||
		    (strcmp(f->topic, FINDING_DRIFT) == 0) != drift)
			continue;
		TABLE_ROW(&table, f->severity == SEVERITY_ERROR ? "x" : "!", f->subject, f->text);
		count++;
	}
	table_finish(&table, stdout);
	return count;
}

static void print_look(const struct result *r, const char *directory)
{
	size_t whole = 0, drift;
	struct output_table table = TABLE_EMPTY;
	size_t at = 0;

	TABLE_ROW(&table, "NODE", "", "DEVICES", "DRIVER", "KERNEL", "MEMORY", "PORT");
	for (size_t i = 0; i < r->node_count; i++)
		look_add_node(&table, r, &r->nodes[i], &at, directory);
	table_finish(&table, stdout);
	puts("");
	run_look_print_findings(r, false);
	drift = run_look_print_findings(r, true);
	for (size_t i = 0; i < r->node_count; i++)
		whole += r->nodes[i].status == NODE_OK;
	printf("%zu of %zu nodes are complete; ", whole, r->node_count);
	if (whole < 3)
		puts("differences between nodes need three nodes");
	else if (drift)
		printf("%zu fact%s differ%s from the majority\n", drift, text_plural(drift),
		       drift == 1 ? "s" : "");
	else
		puts("no differences between nodes");
}

int run_look(const struct run_places *places, const char *directory, const char *command)
{
	struct overrides overrides = { 0 };
	struct error err = ERROR_NONE;
	struct text errors = TEXT_EMPTY;
	struct config config;
	char *own = directory ? NULL : run_new_directory("doctor");
	struct run_request request = { .directory = directory ? directory : own,
				       .command = command,
				       .quiet = true,
				       .no_report = true };
	struct result result;
	int code = EXIT_USAGE;

	run_places_override(places, &overrides);
	if (config_parse(&config, "doctor", look_config, strlen(look_config), overrides.items,
			 overrides.count, &errors) == STATUS_OK) {
		code = run_fleet(&request, &config, places->launch);
		if (result_read_from(&result, request.directory, &err) == STATUS_OK) {
			print_look(&result, request.directory);
			result_release(&result);
		}
		config_release(&config);
	}
	command_print_errors(&errors);
	overrides_release(&overrides);
	error_clear(&err);
	free(own);
	return code;
}
