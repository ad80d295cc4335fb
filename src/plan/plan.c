#include "plan/plan.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "device/limits.h"
#include "plan/estimate.h"
#include "plan/suite.h"

static void plan_case_release(struct plan_case *c)
{
	free(c->id);
	free(c->point);
	free(c->parameters);
	free(c->devices);
	free(c->skip_reason);
}

void plan_release(struct plan *plan)
{
	for (size_t i = 0; i < plan->case_count; i++)
		plan_case_release(&plan->cases[i]);
	for (size_t i = 0; i < plan->number_count; i++) {
		free(plan->numbers[i]->text);
		free(plan->numbers[i]);
	}
	free(plan->numbers);
	free(plan->cases);
	free(plan->devices);
	memset(plan, 0, sizeof(*plan));
}

struct plan plan_subset(const struct plan *plan,
			bool (*wanted)(const void *context, const struct plan_case *c),
			const void *context)
{
	struct plan part = *plan;

	part.cases = xcalloc(plan->case_count + 1, sizeof(*part.cases));
	part.case_count = 0;
	for (size_t i = 0; i < plan->case_count; i++) {
		struct plan_case *again = &part.cases[part.case_count];

		if (plan->cases[i].skip_reason || !wanted(context, &plan->cases[i]))
			continue;
		*again = plan->cases[i];
		again->index = part.case_count++;
		again->alone = true;
	}
	return part;
}

/* "suite[:label]/v1/v2": id of `point` without its devices. */
static char *plan_point_id(const struct plan_case *point)
{
	struct text id = TEXT_EMPTY;

	text_add(&id, point->suite->name);
	if (*point->section->label)
		text_addf(&id, ":%s", point->section->label);
	for (size_t i = 0; i < point->parameter_count; i++) {
		const struct parameter *p = &point->parameters[i];

		if (p->labelled && !p->unnamed)
			text_addf(&id, "/%s=%s", key_parameter(p->key), p->value->text);
		else if (!p->unnamed)
			text_addf(&id, "/%s", p->value->text);
	}
	return text_detach(&id);
}

/* "n1" from "n1/cuda:0". */
static void plan_add_node(struct text *to, const struct device_info *device)
{
	text_add_bytes(to, device->id, device_node_length(device->id));
}

/* "@n1+n2"; for more than four nodes "@n1..n9x9". */
static void plan_add_nodes(struct text *id, const struct plan *plan, const struct plan_case *c)
{
	const struct device_info *last = NULL;
	int count = 0;

	text_add(id, "@");
	for (size_t i = 0; i < c->device_count; i++) {
		const struct device_info *d = &plan->devices[c->devices[i]];

		if (last && last->node == d->node)
			continue;
		if (plan->group.nodes <= 4 || !last) {
			text_add(id, last ? "+" : "");
			plan_add_node(id, d);
		}
		last = d;
		count++;
	}
	if (plan->group.nodes > 4 && last) {
		text_add(id, "..");
		plan_add_node(id, last);
		text_addf(id, "x%d", count);
	}
}

static char *plan_case_id(const struct plan *plan, const struct plan_case *c)
{
	struct text id = TEXT_EMPTY;

	text_add(&id, c->point);
	if (plan->group.nodes) {
		plan_add_nodes(&id, plan, c);
		return text_detach(&id);
	}
	for (size_t i = 0; i < c->device_count; i++)
		text_addf(&id, "%s%s", i ? "," : "@", plan->devices[c->devices[i]].id);
	return text_detach(&id);
}

static bool plan_same_model(const struct device_info *a, const struct device_info *b)
{
	return strcmp(a->name, b->name) == 0 && strcmp(a->backend, b->backend) == 0 &&
	       strcmp(a->module, b->module) == 0 && a->memory_bytes == b->memory_bytes;
}

/* For [suite ...] identical_devices = one: true for the first of several identical devices. */
static bool plan_is_first_of_model(const struct plan *plan, size_t device)
{
	for (size_t i = 0; i < device; i++)
		if (plan_same_model(&plan->devices[i], &plan->devices[device]))
			return false;
	return true;
}

/*
 * For [suite ...] backend: restricts sections to one kind of device, so that one config serves GPUs
 * and CPUs.
 */
static bool case_suits_devices(const struct plan *plan, const struct plan_case *point,
			       const size_t *devices, size_t device_count)
{
	const char *backend = section_text(point->section, "backend");

	if (device_count == 1 &&
	    strcmp(section_text(point->section, "identical_devices"), "one") == 0 &&
	    !plan_is_first_of_model(plan, devices[0]))
		return false;
	if (strcmp(backend, "any") == 0)
		return true;
	for (size_t i = 0; i < device_count; i++)
		if (!device_is_of(&plan->devices[devices[i]], backend))
			return false;
	return true;
}

/*
 * Why the case cannot run on its devices, independent of its suite; NULL: it can. The caller frees
 * the string.
 */
static char *plan_skip_reason(const struct plan *plan, const struct plan_case *c)
{
	const struct device_info *first = &plan->devices[c->devices[0]];

	if (c->gpudirect != GPUDIRECT_DEFAULT && device_is_host(first))
		return xasprintf("%s has no device memory for GPUDirect RDMA", first->id);
	return plan_memory_reason(plan, c);
}

static enum status plan_append_case(struct plan *plan, const struct plan_case *point,
				    const size_t *devices, size_t device_count, const char *reason,
				    struct error *err)
{
	struct plan_case c = *point;

	if (c.setup_seconds <= 0)
		c.setup_seconds = PLAN_SETUP_SECONDS;
	if (!case_suits_devices(plan, point, devices, device_count))
		return STATUS_OK;
	if (plan->case_count == PLAN_MAX_CASES)
		return error_set(err, STATUS_USAGE,
				 "the plan has more than %d cases; shorten the lists of %s",
				 PLAN_MAX_CASES, point->suite->name);
	c.index = plan->case_count;
	c.device_count = device_count;
	c.devices = xcalloc(device_count, sizeof(*c.devices));
	for (size_t i = 0; i < device_count; i++)
		c.devices[i] = devices[i];
	c.parameters = xcalloc(c.parameter_count + 1, sizeof(*c.parameters));
	if (c.parameter_count)
		memcpy(c.parameters, point->parameters, c.parameter_count * sizeof(*c.parameters));
	/* Only the parameters that suite->expand() kept, which may be fewer than in point->id. */
	c.point = plan_point_id(&c);
	c.id = plan_case_id(plan, &c);
	c.skip_reason = reason ? xstrdup(reason) : plan_skip_reason(plan, &c);
	plan_estimate(plan, &c);
	ARRAY_GROW(plan->cases, plan->case_count, plan->case_capacity);
	plan->cases[plan->case_count++] = c;
	return STATUS_OK;
}

enum status plan_add(struct plan *plan, const struct plan_case *point, const size_t *devices,
		     size_t device_count, struct error *err)
{
	return plan_append_case(plan, point, devices, device_count, NULL, err);
}

char *plan_too_few(int needed, const char *backend, size_t has, char *out, size_t size)
{
	char hint[64] = "";

	if (strcmp(backend, "host") == 0)
		snprintf(hint, sizeof(hint), " (run.host_devices=%d divides the CPU)", needed);
	snprintf(out, size, "needs %d devices, %s has %zu%s", needed, backend, has, hint);
	return out;
}

enum status plan_add_skipped(struct plan *plan, const struct plan_case *point,
			     const size_t *devices, size_t device_count, const char *reason,
			     struct error *err)
{
	return plan_append_case(plan, point, devices, device_count, reason, err);
}

enum status plan_add_each(struct plan *plan, const struct plan_case *point, struct error *err)
{
	for (size_t i = 0; i < plan->device_count; i++)
		if (plan_append_case(plan, point, &i, 1, NULL, err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

struct axis {
	const struct setting *setting;
	size_t at;
};

/*
 * Advances to the next point of the cartesian product, last axis fastest; false after the last
 * point.
 */
static bool axes_advance(struct axis *axes, size_t count)
{
	while (count-- > 0) {
		if (++axes[count].at < axes[count].setting->count)
			return true;
		axes[count].at = 0;
	}
	return false;
}

static enum run_stage plan_stage_of(const struct section *section)
{
	const char *name = section_text(section, "stage");

	for (int i = 0; i < RUN_STAGE_COUNT; i++)
		if (strcmp(run_stage_names[i], name) == 0)
			return (enum run_stage)i;
	return RUN_STAGE_NONE;
}

static enum status plan_expand_point(struct plan *plan, const struct section *section,
				     const struct axis *axes, size_t count, struct error *err)
{
	struct plan_case point = { .suite = section->suite,
				   .section = section,
				   .stage = plan_stage_of(section),
				   .parameter_count = count };
	enum status status;

	point.parameters = xcalloc(count, sizeof(*point.parameters));
	for (size_t i = 0; i < count; i++)
		point.parameters[i] =
			(struct parameter){ axes[i].setting->key,
					    &axes[i].setting->values[axes[i].at], false, false };
	point.id = plan_point_id(&point);
	status = section->suite->expand ? section->suite->expand(plan, &point, err)
					: plan_add_each(plan, &point, err);
	plan_case_release(&point);
	return status;
}

static enum status plan_expand_section(struct plan *plan, const struct section *section,
				       struct error *err)
{
	const char *const *names = section->suite->axes;
	struct axis *axes;
	enum status status;
	size_t count = 0;

	while (names && names[count])
		count++;
	axes = xcalloc(count, sizeof(*axes));
	for (size_t i = 0; i < count; i++)
		axes[i].setting = section_setting(section, names[i]);
	do
		status = plan_expand_point(plan, section, axes, count, err);
	while (status == STATUS_OK && axes_advance(axes, count));
	free(axes);
	return status;
}

static int plan_by_id(const void *a, const void *b)
{
	const struct plan_case *const *p = a, *const *q = b;

	return strcmp((*p)->id, (*q)->id);
}

static enum status plan_check_ids(const struct plan *plan, struct error *err)
{
	const struct plan_case **sorted = xcalloc(plan->case_count, sizeof(struct plan_case *));
	enum status status = STATUS_OK;

	for (size_t i = 0; i < plan->case_count; i++)
		sorted[i] = &plan->cases[i];
	if (plan->case_count)
		qsort(sorted, plan->case_count, sizeof(struct plan_case *), plan_by_id);
	for (size_t i = 1; i < plan->case_count && status == STATUS_OK; i++)
		if (plan_by_id(&sorted[i - 1], &sorted[i]) == 0)
			status = error_set(err, STATUS_INTERNAL,
					   "the plan contains the case %s twice", sorted[i]->id);
	free(sorted);
	return status;
}

/* [run] suites */
static bool is_chosen(const struct config *config, const struct section *section)
{
	const struct setting *chosen = section_setting(config_section(config, "run", ""), "suites");

	for (size_t i = 0; i < chosen->count; i++)
		if (strcmp(chosen->values[i].text, "all") == 0 ||
		    strcmp(chosen->values[i].text, section->name) == 0)
			return true;
	return false;
}

/*
 * True if `pattern` is the case's id, its point, a prefix that ends before a '/', or a matching
 * pattern.
 */
static bool plan_is_named(const struct plan_case *c, const char *pattern)
{
	size_t length = strlen(pattern);

	if (strncmp(c->id, pattern, length) == 0 &&
	    (pattern[length - 1] == '/' || strchr("/@", c->id[length])))
		return true;
	return fnmatch(pattern, c->id, 0) == 0 || fnmatch(pattern, c->point, 0) == 0;
}

static enum status no_such_case(const struct plan *plan, const char *pattern, struct error *err)
{
	const char **ids = xcalloc(2 * plan->case_count + 1, sizeof(*ids));
	const char *near;

	for (size_t i = 0; i < plan->case_count; i++) {
		ids[2 * i] = plan->cases[i].id;
		ids[2 * i + 1] = plan->cases[i].point;
	}
	near = text_nearest(pattern, ids);
	error_set(err, STATUS_USAGE,
		  "[run] only = %.200s: none of the %zu cases of %s matches%s%s%s; --dry-run lists "
		  "them",
		  pattern, plan->case_count, plan->config->name, near ? "; did you mean '" : "",
		  near ? near : "", near ? "'?" : "");
	free(ids);
	return err->status;
}

/* Applies [run] only: removes the other cases from the plan. Each name must match a case. */
static enum status keep_only(struct plan *plan, struct error *err)
{
	const char *only = section_text(config_section(plan->config, "run", ""), "only");
	char *names = xstrdup(only), *rest = names, *name;
	bool *kept = xcalloc(plan->case_count + 1, sizeof(*kept));
	size_t count = 0, given = 0;

	/* A name may match a case of another group of nodes, or of none. */
	bool elsewhere = plan_has_groups(plan->config);

	while (err->status == STATUS_OK && (name = strtok_r(rest, " \t", &rest))) {
		bool found = false;

		for (size_t i = 0; i < plan->case_count; i++)
			if (plan_is_named(&plan->cases[i], name))
				kept[i] = found = true;
		if (!found && !elsewhere)
			no_such_case(plan, name, err);
		given++;
	}
	for (size_t i = 0; given && i < plan->case_count; i++) {
		if (!kept[i]) {
			plan_case_release(&plan->cases[i]);
			continue;
		}
		plan->cases[count] = plan->cases[i];
		plan->cases[count].index = count;
		count++;
	}
	plan->case_count = given ? count : plan->case_count;
	free(kept);
	free(names);
	return err->status;
}

bool plan_has_groups(const struct config *config)
{
	for (size_t i = 0; i < config->count; i++) {
		const struct section *section = &config->sections[i];
		const struct setting *nodes;

		if (!section->suite || !is_chosen(config, section))
			continue;
		if (section->suite->groups == SUITE_OF_PAIRS)
			return true;
		nodes = section->suite->groups == SUITE_OF_NODES ? section_setting(section, "nodes")
								 : NULL;
		for (size_t v = 0; nodes && v < nodes->count; v++)
			if (nodes->values[v].integer != 1)
				return true;
	}
	return false;
}

size_t plan_group_sizes(const struct config *config, int64_t sizes[PLAN_SIZES_MOST])
{
	size_t count = 0;

	for (size_t i = 0; i < config->count; i++) {
		const struct section *s = &config->sections[i];
		const struct setting *nodes = s->suite && s->suite->groups == SUITE_OF_NODES
						      ? section_setting(s, "nodes")
						      : NULL;

		for (size_t v = 0; nodes && v < nodes->count && count < PLAN_SIZES_MOST; v++) {
			int64_t size = nodes->values[v].integer;
			size_t k = 0;

			while (k < count && sizes[k] != size)
				k++;
			if (k == count && size != 1)
				sizes[count++] = size;
		}
	}
	return count;
}

int64_t plan_pair_setting(const struct config *config, const char *key)
{
	int64_t most = -1;

	for (size_t i = 0; i < config->count; i++) {
		const struct section *s = &config->sections[i];
		int64_t value;

		if (!s->suite || s->suite->groups != SUITE_OF_PAIRS)
			continue;
		value = section_integer(s, key);
		if (value == 0 && strcmp(key, "rounds") == 0)
			return 0;
		most = value > most ? value : most;
	}
	return most;
}

/*
 * A suite of pairs has no single-node cases, and a suite that runs within nodes has no multi-node
 * cases.
 */
static bool is_expanded(const struct plan *plan, const struct section *section)
{
	return section->suite && is_chosen(plan->config, section) &&
	       (plan->group.nodes ? section->suite->groups == plan->group.kind
				  : section->suite->groups != SUITE_OF_PAIRS);
}

enum status plan_build(struct plan *plan, const struct config *config,
		       const struct device_info *devices, size_t device_count, struct error *err)
{
	const struct plan_group none = { 0 };

	return plan_build_group(plan, config, devices, device_count, &none, err);
}

enum status plan_build_group(struct plan *plan, const struct config *config,
			     const struct device_info *devices, size_t device_count,
			     const struct plan_group *group, struct error *err)
{
	enum status status = STATUS_OK;

	memset(plan, 0, sizeof(*plan));
	plan->group = *group;
	plan->config = config;
	plan->device_count = device_count;
	plan->host_bytes = limits_memory_total();
	plan->devices = xcalloc(device_count, sizeof(*plan->devices));
	if (device_count)
		memcpy(plan->devices, devices, device_count * sizeof(*devices));
	for (size_t i = 0; i < config->count && status == STATUS_OK; i++)
		if (is_expanded(plan, &config->sections[i]))
			status = plan_expand_section(plan, &config->sections[i], err);
	if (status == STATUS_OK)
		status = plan_check_ids(plan, err);
	if (status == STATUS_OK)
		status = keep_only(plan, err);
	if (status != STATUS_OK)
		plan_release(plan);
	return status;
}

const struct value *case_find_value(const struct plan_case *c, const char *name)
{
	for (size_t i = 0; i < c->parameter_count; i++)
		if (strcmp(c->parameters[i].key->name, name) == 0)
			return c->parameters[i].value;
	return NULL;
}

int64_t case_integer_or(const struct plan_case *c, const char *name, int64_t otherwise)
{
	const struct value *value = case_find_value(c, name);

	return value ? value->integer : otherwise;
}

const char *case_text_or(const struct plan_case *c, const char *name, const char *otherwise)
{
	const struct value *value = case_find_value(c, name);

	return value ? value->text : otherwise;
}

const struct value *case_value(const struct plan_case *c, const char *name)
{
	const struct value *value = case_find_value(c, name);

	if (value)
		return value;
	fprintf(stderr, "gpuproof: bug: suite %s has no axis %s\n", c->suite->name, name);
	abort();
}

int64_t case_integer(const struct plan_case *c, const char *name)
{
	return case_value(c, name)->integer;
}

const char *case_text(const struct plan_case *c, const char *name)
{
	return case_value(c, name)->text;
}

bool plan_first_of_backend(const struct plan *plan, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (strcmp(plan->devices[i].backend, plan->devices[index].backend) == 0)
			return false;
	return true;
}

size_t plan_backend_devices(const struct plan *plan, size_t first)
{
	size_t count = 0;

	for (size_t i = first; i < plan->device_count; i++)
		count += strcmp(plan->devices[i].backend, plan->devices[first].backend) == 0;
	return count;
}

enum status plan_add_ranks(struct plan *plan, const struct plan_case *point, size_t first,
			   int ranks, const char *reason, struct error *err)
{
	const char *backend = plan->devices[first].backend;
	size_t *set = xcalloc(plan->device_count, sizeof(*set)), count = 0;
	enum status status;
	char text[128];

	for (size_t i = first; i < plan->device_count && count < (size_t)ranks; i++)
		if (strcmp(plan->devices[i].backend, backend) == 0)
			set[count++] = i;
	if (!reason && count < (size_t)ranks)
		reason = plan_too_few(ranks, backend, count, text, sizeof(text));
	status = plan_append_case(plan, point, set, count, reason, err);
	free(set);
	return status;
}

enum status plan_add_group(struct plan *plan, const struct plan_case *point, const char *reason,
			   struct error *err)
{
	return plan_add_ranks(plan, point, 0, (int)plan_backend_devices(plan, 0), reason, err);
}
