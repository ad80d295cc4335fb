/*
 * Limits on whole nodes: number of devices, links, ECC, driver, network port. For multi-node runs
 * also lost nodes and configuration drift.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "judge/judging.h"

/* Value of one device for a metric of links or ports; NaN: unknown. */
static double node_device_value(const char *metric, const struct link *link,
				const struct device_info *device)
{
	double value = strcmp(metric, "node.pcie_generation") == 0 ? link->generation
		       : strcmp(metric, "node.pcie_width") == 0    ? link->width
		       : strcmp(metric, "node.nic_rate") == 0      ? device->nic_bandwidth
								   : NAN;

	if (strcmp(metric, "node.nvlink_links") == 0)
		return device->nvlink_count;
	return value > 0 ? value : (double)NAN;
}

/* Lowest value over the devices; `worst` names the last device that has it. */
static double node_lowest_device_value(const struct judge_input *input, const struct limit *limit,
				       const char **worst)
{
	const struct result *result = &input->results[0];
	struct link *links = health_links(input);
	double value = (double)NAN;

	for (size_t i = 0; i < result->device_count; i++) {
		const struct device_info *d = &result->devices[i];
		double own;

		if (!judge_limits_admits(limit, d))
			continue;
		own = node_device_value(limit->metric->name, &links[i], d);
		if (!(value < own))
			*worst = d->id;
		value = value < own ? value : own;
		if (isnan(own))
			break;
	}
	free(links);
	return value;
}

/* Devices of `node`; NULL: of the whole result. */
static double node_limit_devices_on(const struct result *result, const struct limit *limit,
				    const struct result_node *node)
{
	double n = 0;

	for (size_t i = 0; i < result->device_count; i++)
		n += judge_limits_admits(limit, &result->devices[i]) &&
		     (!node || device_id_is_of_node(result->devices[i].id, node->name));
	return n;
}

/* Multi-node run: device count of the complete node with the fewest devices, or with the most. */
static double node_count_devices(const struct result *result, const struct limit *limit, bool most,
				 char **reason)
{
	double value = (double)NAN;

	if (!result->node_count)
		return node_limit_devices_on(result, limit, NULL);
	for (size_t i = 0; i < result->node_count; i++) {
		const struct result_node *node = &result->nodes[i];
		double own =
			node->status == NODE_OK ? node_limit_devices_on(result, limit, node) : NAN;

		if (isnan(own) || (most ? own <= value : own >= value) ||
		    (own == 0 && limit->condition_count))
			continue;
		value = own;
		free(*reason);
		*reason = xasprintf("node %s", node->name);
	}
	return value;
}

/* Number of nodes without a complete result; NaN: single-node run. */
static double node_limit_count_lost(const struct result *result, char **reason)
{
	size_t lost = 0;
	struct text names = TEXT_EMPTY;

	for (size_t i = 0; i < result->node_count; i++)
		if (result->nodes[i].status != NODE_OK && ++lost <= NODES_NAMED)
			text_addf(&names, "%s%s", lost > 1 ? ", " : "node ", result->nodes[i].name);
	if (lost > NODES_NAMED)
		text_addf(&names, " and %zu more", lost - NODES_NAMED);
	if (names.length)
		*reason = text_detach(&names);
	text_release(&names);
	return result->node_count ? (double)lost : (double)NAN;
}

/* Selects the node with the most differences; NaN: fewer than three nodes have no majority. */
static double node_count_drift(const struct result *result, char **reason)
{
	size_t whole = 0, most = 0;

	for (size_t i = 0; i < result->node_count; i++)
		whole += result->nodes[i].status == NODE_OK;
	for (size_t i = 0; i < result->preflight_count; i++) {
		const struct finding *f = &result->preflight[i];
		size_t own = 0;

		if (strcmp(f->topic, FINDING_DRIFT) != 0)
			continue;
		for (size_t k = 0; k < result->preflight_count; k++)
			own += strcmp(result->preflight[k].topic, FINDING_DRIFT) == 0 &&
			       strcmp(result->preflight[k].node, f->node) == 0;
		if (own <= most)
			continue;
		most = own;
		free(*reason);
		*reason = xasprintf("node %s: %s", f->node, f->subject);
	}
	return whole >= 3 ? (double)most : (double)NAN;
}

static double node_share_with_ecc(const struct result *result, const struct limit *limit,
				  const char **worst)
{
	double on = 0, devices = 0;

	for (size_t i = 0; i < result->device_count; i++) {
		if (!judge_limits_admits(limit, &result->devices[i]))
			continue;
		devices++;
		on += result->devices[i].ecc == 1;
		if (result->devices[i].ecc != 1)
			*worst = result->devices[i].id;
	}
	return devices > 0 ? on / devices : (double)NAN;
}

/* `most`: use the highest value over nodes and devices instead of the lowest. */
static double node_value(const struct judge_input *input, const struct limit *limit, bool most,
			 const char **worst, char **reason)
{
	const struct result *result = &input->results[0];

	if (strcmp(limit->metric->name, "node.devices") == 0)
		return node_count_devices(result, limit, most, reason);
	if (strcmp(limit->metric->name, "node.lost") == 0)
		return node_limit_count_lost(result, reason);
	if (strcmp(limit->metric->name, "node.drift") == 0)
		return node_count_drift(result, reason);
	if (strcmp(limit->metric->name, "node.ecc") == 0)
		return node_share_with_ecc(result, limit, worst);
	if (strcmp(limit->metric->name, "node.driver") == 0) {
		const char *version = result_fact(result, "driver");
		long branch = version ? strtol(version, NULL, 10) : 0;

		return branch > 0 ? (double)branch : (double)NAN;
	}
	return node_lowest_device_value(input, limit, worst);
}

struct verdict_check *judging_node_check(struct verdicts *verdicts, const struct limit *limit,
					 const struct bound *bound, enum check_kind comparison,
					 double value, const char *unknown)
{
	struct verdict_check *check = verdicts_add(verdicts);
	bool fits = comparison == AT_LEAST ? value >= bound->factor : value <= bound->factor;

	run_findings_set(&check->limit, limit->name);
	run_findings_set(&check->metric, limit->metric->name);
	run_findings_set(&check->unit, limit->metric->unit);
	run_findings_set(&check->place, bound->place);
	run_findings_set(&check->bound_text, bound->text);
	run_findings_set(&check->bound_origin, limit->origin);
	check->comparison = comparison;
	check->value = check->low = check->high = value;
	check->bound = bound->factor;
	check->launches = 1;
	check->final = true;
	judge_check_decide(check, limit,
			   isnan(value) ? VERDICT_ERROR
			   : fits       ? VERDICT_PASS
					: VERDICT_FAIL,
			   isnan(value) ? "%s" : NULL, unknown);
	return check;
}

static void node_bound(const struct judge_input *input, const struct limit *limit,
		       const struct bound *bound, enum check_kind comparison,
		       struct verdicts *verdicts)
{
	const char *worst = "";
	char *reason = NULL;
	double value =
		input->count ? node_value(input, limit, comparison == AT_MOST, &worst, &reason) : 0;
	struct verdict_check *check = judging_node_check(verdicts, limit, bound, comparison, value,
							 "no value for this node");

	if (check->verdict != VERDICT_PASS && !isnan(value)) {
		if (*worst)
			run_findings_set(&check->devices, worst);
		if (reason)
			run_findings_set(&check->reason, reason);
	}
	free(reason);
}

void judge_node(const struct judge_input *input, const struct limit *limit,
		struct verdicts *verdicts)
{
	if (input->count && strcmp(limit->metric->name, NODE_SUSPECT) == 0) {
		judge_suspects(input, limit, verdicts);
		return;
	}
	if (limit->min.kind)
		node_bound(input, limit, &limit->min, AT_LEAST, verdicts);
	if (limit->max.kind)
		node_bound(input, limit, &limit->max, AT_MOST, verdicts);
}
