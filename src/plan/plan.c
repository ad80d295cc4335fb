#include "plan/plan.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "device/limits.h"
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
static char *plan_id_of_point(const struct plan_case *point)
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

/* "POINT@cuda:0,cuda:1"; of several nodes "POINT@n1+n2", of more than four "POINT@n1..n9x9". */
static char *plan_case_id(const struct plan *plan, const struct plan_case *c)
{
	const struct device_info *last = NULL;
	struct text id = TEXT_EMPTY;
	int count = 0;

	text_addf(&id, "%s%s", c->point, plan->group.nodes ? "@" : "");
	for (size_t i = 0; i < c->device_count && !plan->group.nodes; i++)
		text_addf(&id, "%s%s", i ? "," : "@", plan->devices[c->devices[i]].id);
	if (!plan->group.nodes)
		return text_detach(&id);
	for (size_t i = 0; i < c->device_count; i++) {
		const struct device_info *d = &plan->devices[c->devices[i]];

		if (last && last->node == d->node)
			continue;
		if (plan->group.nodes <= 4 || !last)
			text_addf(&id, "%s%.*s", last ? "+" : "", (int)device_node_length(d->id),
				  d->id);
		last = d;
		count++;
	}
	if (plan->group.nodes > 4 && last)
		text_addf(&id, "..%.*sx%d", (int)device_node_length(last->id), last->id, count);
	return text_detach(&id);
}

/*
 * [suite ...] identical_devices = one keeps the first of several identical devices. backend
 * restricts sections to one kind of device, so that one config serves GPUs and CPUs.
 */
static bool plan_case_suits_devices(const struct plan *plan, const struct plan_case *point,
				    const size_t *devices, size_t device_count)
{
	const char *backend = section_text(point->section, "backend");
	bool one = strcmp(section_text(point->section, "identical_devices"), "one") == 0;

	for (size_t i = 0; device_count == 1 && one && i < devices[0]; i++) {
		const struct device_info *d = &plan->devices[devices[0]],
					 *other = &plan->devices[i];

		if (strcmp(other->name, d->name) == 0 && strcmp(other->backend, d->backend) == 0 &&
		    strcmp(other->module, d->module) == 0 && other->memory_bytes == d->memory_bytes)
			return false;
	}
	if (strcmp(backend, "any") == 0)
		return true;
	for (size_t i = 0; i < device_count; i++)
		if (!device_is_of(&plan->devices[devices[i]], backend))
			return false;
	return true;
}

/*
 * The limit is a watchdog against hangs, not a budget: a case has several series, a slow device
 * needs its min_samples whatever max_time says, and a first call may load libraries and compile
 * kernels.
 */
#define LIMIT_FLOOR_SECONDS 30.0
#define LIMIT_MULTIPLE 20.0

/* A quiet case stops after about this multiple of min_samples. */
#define TYPICAL_SAMPLES 2.0

/* A series may take max_time, or longer if min_samples need it. */
static double plan_estimate_most_seconds(const struct section *section)
{
	double samples = (double)section_integer(section, "min_samples") +
			 (double)section_integer(section, "warmup");

	return fmax(section_real(section, "max_time"),
		    samples * section_real(section, "sample_time"));
}

/* Sets estimate_seconds and limit_seconds from setup_seconds, sampling keys and case_limit. */
static void plan_estimate(const struct plan *plan, struct plan_case *c)
{
	const struct section *s = c->section;
	double given = section_real(config_section(plan->config, "run", ""), "case_limit");
	double load = section_real(s, "preheat") + 2 * section_real(s, "energy_time"),
	       most = plan_estimate_most_seconds(s) + section_real(s, "settle_time") + load,
	       derived = LIMIT_MULTIPLE * (c->setup_seconds + most);
	/* A series converges after a typical number of samples. */
	double samples = TYPICAL_SAMPLES * (double)section_integer(s, "min_samples") +
			 (double)section_integer(s, "warmup"),
	       typical = fmin(samples * section_real(s, "sample_time"),
			      plan_estimate_most_seconds(s)) +
			 load,
	       lasts = c->fixed_seconds > 0 ? c->fixed_seconds : typical;

	c->estimate_seconds = c->skip_reason ? 0 : c->setup_seconds + lasts;
	c->limit_seconds = derived > LIMIT_FLOOR_SECONDS ? derived : LIMIT_FLOOR_SECONDS;
	c->limit_seconds += c->fixed_seconds + c->silent_seconds;
	if (given > 0)
		c->limit_seconds = given;
}

static char *plan_too_much(uint64_t needed, const char *what, const char *owner, uint64_t total)
{
	char need[64], have[64];

	return xasprintf("needs %s of %s memory; %s has %s",
			 units_si((double)needed, "B", need, sizeof(need)), what, owner,
			 units_si((double)total, "B", have, sizeof(have)));
}

/*
 * Why the case cannot run on its devices, independent of its suite: GPUDirect RDMA, the memory of
 * its devices, the host memory that the process may use. NULL: it can. The caller frees the string.
 */
static char *plan_skip_reason(const struct plan *plan, const struct plan_case *c)
{
	const struct device_info *first = &plan->devices[c->devices[0]];

	if (c->gpudirect != GPUDIRECT_DEFAULT && device_is_host(first))
		return xasprintf("GPUDirect RDMA needs GPU memory, and %s is a CPU", first->id);
	for (size_t i = 0; i < c->device_count; i++) {
		const struct device_info *device = &plan->devices[c->devices[i]];

		/* 0: unknown. Free memory is not used, because it changes until the case runs. */
		if (device->memory_bytes && c->device_bytes > device->memory_bytes)
			return plan_too_much(c->device_bytes, "device", device->id,
					     device->memory_bytes);
	}
	if (plan->host_bytes && c->host_bytes > plan->host_bytes)
		return plan_too_much(c->host_bytes, "host", "the machine or container",
				     plan->host_bytes);
	return NULL;
}

enum status plan_add(struct plan *plan, const struct plan_case *point, const size_t *devices,
		     size_t device_count, const char *reason, struct error *err)
{
	struct plan_case c = *point;

	if (c.setup_seconds <= 0)
		c.setup_seconds = PLAN_SETUP_SECONDS;
	if (!plan_case_suits_devices(plan, point, devices, device_count))
		return STATUS_OK;
	if (plan->case_count == PLAN_MAX_CASES)
		return error_set(err, STATUS_USAGE,
				 "the config has more than %d cases; shorten the lists of %s",
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
	c.point = plan_id_of_point(&c);
	c.id = plan_case_id(plan, &c);
	c.skip_reason = reason ? xstrdup(reason) : plan_skip_reason(plan, &c);
	plan_estimate(plan, &c);
	ARRAY_GROW(plan->cases, plan->case_count, plan->case_capacity);
	plan->cases[plan->case_count++] = c;
	return STATUS_OK;
}

enum status plan_add_each(struct plan *plan, const struct plan_case *point, struct error *err)
{
	for (size_t i = 0; i < plan->device_count; i++)
		if (plan_add(plan, point, &i, 1, NULL, err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

struct axis {
	const struct setting *setting;
	size_t at;
};

static enum status plan_expand_point(struct plan *plan, const struct section *section,
				     const struct axis *axes, size_t count, struct error *err)
{
	struct plan_case point = { .suite = section->suite,
				   .section = section,
				   .stage = RUN_STAGE_NONE,
				   .parameter_count = count };
	enum status status;

	for (int i = 0; i < RUN_STAGE_COUNT; i++)
		if (strcmp(run_stage_names[i], section_text(section, "stage")) == 0)
			point.stage = (enum run_stage)i;

	point.parameters = xcalloc(count, sizeof(*point.parameters));
	for (size_t i = 0; i < count; i++)
		point.parameters[i] =
			(struct parameter){ axes[i].setting->key,
					    &axes[i].setting->values[axes[i].at], false, false };
	point.id = plan_id_of_point(&point);
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
	size_t count = 0, last;

	while (names && names[count])
		count++;
	axes = xcalloc(count, sizeof(*axes));
	for (size_t i = 0; i < count; i++)
		axes[i].setting = section_setting(section, names[i]);
	/* The cartesian product, last axis fastest. */
	do {
		status = plan_expand_point(plan, section, axes, count, err);
		for (last = count;
		     last > 0 && ++axes[last - 1].at == axes[last - 1].setting->count;)
			axes[--last].at = 0;
	} while (status == STATUS_OK && last > 0);
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
					   "the config contains the case %s twice", sorted[i]->id);
	free(sorted);
	return status;
}

/* [run] suites */
static bool plan_is_chosen(const struct config *config, const struct section *section)
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

static enum status plan_no_such_case(const struct plan *plan, const char *pattern,
				     struct error *err)
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
static enum status plan_keep_only(struct plan *plan, struct error *err)
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
			plan_no_such_case(plan, name, err);
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

		if (!section->suite || !plan_is_chosen(config, section))
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
	plan->host_bytes = device_limits_memory_total();
	plan->devices = xcalloc(device_count, sizeof(*plan->devices));
	if (device_count)
		memcpy(plan->devices, devices, device_count * sizeof(*devices));
	for (size_t i = 0; i < config->count && status == STATUS_OK; i++)
		/*
		 * A suite of pairs has no single-node cases, and a suite that runs within nodes has
		 * no multi-node cases.
		 */
		if (config->sections[i].suite && plan_is_chosen(config, &config->sections[i]) &&
		    (group->nodes ? config->sections[i].suite->groups == group->kind
				  : config->sections[i].suite->groups != SUITE_OF_PAIRS))
			status = plan_expand_section(plan, &config->sections[i], err);
	if (status == STATUS_OK)
		status = plan_check_ids(plan, err);
	if (status == STATUS_OK)
		status = plan_keep_only(plan, err);
	if (status != STATUS_OK)
		plan_release(plan);
	return status;
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
	char text[128], hint[64] = "";

	for (size_t i = first; i < plan->device_count && count < (size_t)ranks; i++)
		if (strcmp(plan->devices[i].backend, backend) == 0)
			set[count++] = i;
	if (!reason && count < (size_t)ranks) {
		if (strcmp(backend, "host") == 0)
			snprintf(hint, sizeof(hint), " (run.host_devices=%d divides the CPU)",
				 ranks);
		snprintf(text, sizeof(text), "needs %d devices, and backend %s has %zu%s", ranks,
			 backend, count, hint);
		reason = text;
	}
	status = plan_add(plan, point, set, count, reason, err);
	free(set);
	return status;
}

enum status plan_add_group(struct plan *plan, const struct plan_case *point, const char *reason,
			   struct error *err)
{
	return plan_add_ranks(plan, point, 0, (int)plan_backend_devices(plan, 0), reason, err);
}
