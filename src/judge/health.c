/*
 * Checks from the findings of doctor before and after the run, and changes between them. Findings
 * about the host appear with the verdict but do not affect it: a busy CPU is not a fault of a GPU.
 *
 * To add a finding about a machine that counts in acceptance, add it to the findings of its
 * backend. If a property must not change during a run, add it to health_changed().
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "judge/judging.h"
#include "reference/spec.h"

/* Finds the device of the run that the finding names; NULL: none. */
static const char *health_device_of(const struct result *result, const struct finding *f)
{
	const struct device_info *device = *f->device ? result_device(result, f->device) : NULL;

	return device ? device->id : NULL;
}

/* The node whose settings differ from the majority (fleet/drift.h); NULL: none. */
static const struct result_node *health_drifted_node(const struct result *result,
						     const struct finding *f)
{
	for (size_t i = 0; strcmp(f->topic, FINDING_DRIFT) == 0 && i < result->node_count; i++)
		if (strcmp(result->nodes[i].name, f->node) == 0)
			return &result->nodes[i];
	return NULL;
}

char *health_node_devices(const struct result *result, const struct result_node *node)
{
	struct text devices = TEXT_EMPTY;

	for (size_t i = 0; i < result->device_count; i++) {
		const char *id = result->devices[i].id;

		if (device_id_is_of_node(id, node->name))
			text_addf(&devices, "%s%s", devices.length ? "," : "", id);
	}
	return text_detach(&devices);
}

/* Ignores devices that the run did not use. */
static bool health_finding_concerns_run(const struct result *result, const struct finding *f)
{
	return health_device_of(result, f) || health_drifted_node(result, f) ||
	       (f->severity == SEVERITY_ERROR && !*f->device);
}

/* Several launches may report the same finding; it is listed once. */
static bool health_check_exists(const struct verdicts *verdicts, const char *device,
				const char *reason)
{
	for (size_t i = 0; i < verdicts->count; i++)
		if (verdicts->checks[i].comparison == NO_COMPARISON &&
		    strcmp(verdicts->checks[i].reason, reason) == 0 &&
		    strcmp(verdicts->checks[i].devices, device ? device : "") == 0)
			return true;
	return false;
}

/* Cause by the finding's topic; CAUSE_NONE: it follows from the members of the check. */
static enum cause health_cause_of_topic(const char *topic)
{
	static const struct {
		const char *topic;
		enum cause cause;
	} rows[] = { { FINDING_PROCESSES, CAUSE_FOREIGN_PROCESS },
		     { FINDING_ECC, CAUSE_GPU_MEMORY_ERROR },
		     { FINDING_ECC_ERRORS, CAUSE_GPU_MEMORY_ERROR },
		     { FINDING_RETIRED, CAUSE_GPU_MEMORY_ERROR },
		     { FINDING_REMAPPED, CAUSE_GPU_MEMORY_ERROR },
		     { FINDING_NODES, CAUSE_NODE_NETWORK },
		     { FINDING_NVLINK, CAUSE_NVLINK_DEGRADED },
		     { FINDING_FABRIC, CAUSE_NVLINK_DEGRADED },
		     { FINDING_RECOVERY, CAUSE_GPU_RECOVERY },
		     { FINDING_MIG, CAUSE_NODE_SETTING },
		     { FINDING_XID, CAUSE_GPU_CRITICAL_ERROR },
		     { FINDING_PCIE, CAUSE_PCIE_DEGRADED } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (strcmp(topic, rows[i].topic) == 0)
			return rows[i].cause;
	return CAUSE_NONE;
}

/* Takes over `reason`. */
static void health_add_check(const struct result *result, const struct finding *f,
			     enum verdict verdict, char *reason, struct verdicts *verdicts)
{
	const char *device = health_device_of(result, f);
	const struct result_node *node = health_drifted_node(result, f);
	struct verdict_check *check;

	if (!health_check_exists(verdicts, device, reason)) {
		check = run_findings_add(verdicts, result, NULL, device, ASPECT_CONDITION, verdict,
					 node ? CAUSE_NODE_SETTING
					 : judge_names_suspect(result, f)
						 ? CAUSE_NODE_NETWORK
						 : health_cause_of_topic(f->topic),
					 "%s", reason);
		if (node)
			run_findings_take(&check->devices, health_node_devices(result, node));
	}
	free(reason);
}

static void health_finding(const struct judge_input *input, const struct result *result,
			   const struct finding *f, const char *when, struct verdicts *verdicts)
{
	enum verdict verdict = f->severity == SEVERITY_ERROR ? VERDICT_FAIL : VERDICT_WARN;

	if (f->severity < SEVERITY_WARNING || !health_finding_concerns_run(result, f))
		return;
	/* Figures of a GPU in parts, or shared, say nothing about it. */
	if (verdict == VERDICT_WARN &&
	    (strcmp(f->topic, FINDING_PROCESSES) == 0 || strcmp(f->topic, FINDING_MIG) == 0))
		verdict = VERDICT_INCONCLUSIVE;
	/* A link that was lost under load. */
	if (verdict == VERDICT_WARN && strcmp(when, "after") == 0 &&
	    strcmp(f->topic, FINDING_NVLINK) == 0)
		verdict = VERDICT_FAIL;
	/* A limit judges the nodes that findings name as suspects. */
	for (size_t i = 0; i < input->limits->count; i++)
		if (strcmp(input->limits->items[i].metric->name, NODE_SUSPECT) == 0 &&
		    judge_names_suspect(result, f))
			return;
	health_add_check(result, f, verdict,
			 xasprintf("%s the run: %s: %s", when, f->subject, f->text), verdicts);
}

/* Searches from the entry after the last match: both lists usually have the same order. */
static const struct finding *health_finding_by_subject(const struct finding *findings, size_t count,
						       const char *subject, size_t *near)
{
	for (size_t i = 0; i < count; i++) {
		const struct finding *f = &findings[(*near + i) % count];

		if (strcmp(f->subject, subject) != 0)
			continue;
		*near = (*near + i + 1) % count;
		return f;
	}
	return NULL;
}

bool health_changed(const struct finding *before, const struct finding *after)
{
	/* Properties that must not change during a run. Free memory and the PCIe link may. */
	static const char *const stay[] = { FINDING_ECC,      FINDING_ECC_ERRORS, FINDING_RETIRED,
					    FINDING_REMAPPED, "power cap",        "persistence",
					    FINDING_NVLINK,   FINDING_FABRIC,     FINDING_RECOVERY,
					    FINDING_MIG,      FINDING_XID,        "clocks",
					    "peers",          "compute mode",     "nic" };

	for (size_t i = 0; i < ARRAY_SIZE(stay); i++)
		if (strcmp(before->topic, stay[i]) == 0)
			return strcmp(before->text, after->text) != 0;
	return after->severity > before->severity && after->severity >= SEVERITY_WARNING;
}

/* A finding after the run is not repeated if it was as bad before. */
static void health_change(const struct judge_input *input, const struct result *result,
			  const struct finding *after, size_t *near, struct verdicts *verdicts)
{
	const struct finding *before =
		health_finding_by_subject(result->preflight, result->preflight_count,
					  after->subject, near);

	if (!before || !health_changed(before, after)) {
		if (!before || before->severity < after->severity)
			health_finding(input, result, after, "after", verdicts);
		return;
	}
	if (after->severity >= SEVERITY_WARNING && after->severity > before->severity)
		health_finding(input, result, after, "after", verdicts);
	else if (health_finding_concerns_run(result, after))
		health_add_check(result, after, VERDICT_WARN,
				 xasprintf("%s changed during the run: from %s to %s",
					   after->subject, before->text, after->text),
				 verdicts);
}

static void health_take_link(struct link *link, const struct telemetry *seen)
{
	if (seen->pcie_generation > link->generation)
		link->generation = (int)seen->pcie_generation;
	if (seen->pcie_width > link->width)
		link->width = (int)seen->pcie_width;
}

struct link *health_links(const struct judge_input *input)
{
	const struct result *first = &input->results[0];
	struct link *links = xcalloc(first->device_count + 1, sizeof(*links));

	for (size_t i = 0; i < first->device_count; i++)
		links[i] = (struct link){ first->devices[i].pcie_generation,
					  first->devices[i].pcie_width };
	for (size_t r = 0; r < input->count; r++) {
		for (size_t i = 0; i < input->results[r].case_count; i++) {
			const struct case_result *c = &input->results[r].cases[i];
			const struct device_info *d = result_device(first, c->device);

			if (!d)
				continue;
			health_take_link(&links[d - first->devices], &c->before);
			health_take_link(&links[d - first->devices], &c->after);
		}
	}
	return links;
}

/*
 * From this generation on, every board connects all NVLinks of its GPUs, to switches or to each
 * other.
 */
#define FULLY_WIRED_NVLINK 3
#define SWITCHED_LINKS 12 /* GPUs with fewer may be without a bridge */

static bool health_node_has_other_gpus(const struct result *r, const struct device_info *d)
{
	for (size_t i = 0; i < r->device_count; i++)
		if (&r->devices[i] != d && !device_is_host(&r->devices[i]) &&
		    device_ids_share_node(r->devices[i].id, d->id))
			return true;
	return false;
}

/*
 * A link that is down slows every transfer between GPUs a little. No active link at all is normal
 * for a GPU alone in a virtual machine; a node with several GPUs is then INCONCLUSIVE.
 */
static void health_nvlink(const struct result *r, const struct device_info *d,
			  struct verdicts *verdicts)
{
	double links, generation;
	const char *status;
	bool none = d->nvlink_count <= 0;

	if (!spec_of_name(d->name, "nvlink_links", &links, &status) ||
	    !spec_of_name(d->name, "nvlink_generation", &generation, &status) ||
	    generation < FULLY_WIRED_NVLINK || d->nvlink_count >= links ||
	    (none && (links < SWITCHED_LINKS || !health_node_has_other_gpus(r, d))))
		return;
	run_findings_add(verdicts, r, NULL, d->id, ASPECT_CONDITION,
			 none ? VERDICT_INCONCLUSIVE : VERDICT_FAIL, CAUSE_NVLINK_DEGRADED,
			 "%d of %.0f NVLink links are active (number of links: data sheet)%s",
			 none ? 0 : d->nvlink_count, links,
			 none ? ", though the node has other GPUs" : "");
}

void judge_health(const struct judge_input *input, struct verdicts *verdicts)
{
	struct link *links;

	for (size_t r = 0; r < input->count; r++) {
		const struct result *result = &input->results[r];
		size_t near = 0;

		for (size_t i = 0; i < result->preflight_count; i++)
			health_finding(input, result, &result->preflight[i], "before", verdicts);
		for (size_t i = 0; i < result->postflight_count; i++)
			health_change(input, result, &result->postflight[i], &near, verdicts);
	}
	if (!input->count)
		return;
	links = health_links(input);
	for (size_t i = 0; i < input->results[0].device_count; i++) {
		const struct device_info *d = &input->results[0].devices[i];
		const struct link *link = &links[i];

		if (!link->generation || !link->width ||
		    (link->generation >= d->pcie_generation_max &&
		     link->width >= d->pcie_width_max))
			continue;
		run_findings_add(verdicts, &input->results[0], NULL, d->id, ASPECT_CONDITION,
				 VERDICT_WARN, CAUSE_PCIE_DEGRADED,
				 "the PCIe link reached only generation %d x%d; device and slot "
				 "support generation %d x%d",
				 link->generation, link->width, d->pcie_generation_max,
				 d->pcie_width_max);
	}
	free(links);
	for (size_t r = 0; r < input->count; r++)
		for (size_t i = 0; i < input->results[r].device_count; i++)
			health_nvlink(&input->results[r], &input->results[r].devices[i], verdicts);
}

static bool health_names_device(const struct verdict_check *check, const char *device)
{
	size_t length = strlen(device);

	for (const char *at = check->devices; (at = strstr(at, device)); at += length)
		if ((at == check->devices || at[-1] == ',') && (!at[length] || at[length] == ','))
			return length > 0;
	return false;
}

void health_disturbed(struct verdicts *verdicts)
{
	for (size_t i = 0; i < verdicts->count; i++) {
		const struct verdict_check *other = &verdicts->checks[i];

		for (size_t k = 0; other->cause == CAUSE_FOREIGN_PROCESS && k < verdicts->count;
		     k++) {
			struct verdict_check *check = &verdicts->checks[k];

			if (check->comparison == NO_COMPARISON || check->wrong ||
			    (check->verdict != VERDICT_FAIL && check->verdict != VERDICT_WARN) ||
			    !health_names_device(check, other->devices))
				continue;
			run_findings_take(&check->reason,
					  xasprintf("%s%sanother process may have used %s, so this "
						    "value does not count; stop it and repeat the "
						    "run",
						    check->reason, *check->reason ? "; " : "",
						    other->devices));
			check->verdict = VERDICT_INCONCLUSIVE;
			check->cause = CAUSE_FOREIGN_PROCESS;
			check->accepted = false;
			check->final = true;
		}
	}
}
