/*
 * The plan: all cases that a config requests on the available devices, in run order, before
 * anything runs.
 *
 * The list keys in suite->axes span the sweep. The plan iterates over their cartesian product
 * (first axis slowest) and passes each point to suite->expand(), which drops it or places it on
 * devices with plan_add().
 */
#ifndef GPUPROOF_PLAN_PLAN_H
#define GPUPROOF_PLAN_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "device/device_info.h"
#include "device/ranks/transport.h"
#include "plan/config.h"
#include "plan/suite.h"
#include "result/aspect.h"

/* Maximum number of cases in a plan; a larger sweep is a mistake. */
#define PLAN_MAX_CASES 100000
/*
 * Default of setup_seconds for suites without an estimate: allocations, a verification, a first
 * launch.
 */
#define PLAN_SETUP_SECONDS 0.1

struct parameter {
	const struct key *key;     /* the axis */
	const struct value *value; /* borrowed from the config */
	/* left out of the id; in the id as "batch=4": see plan_unname_usual() */
	bool unnamed, labelled;
};

struct plan_case {
	size_t index; /* index in the plan */
	const struct suite *suite;
	const struct section *section; /* settings of this variant that are not axes */
	char *id;    /* "transfer/h2d/pinned/64MiB@cuda:0"; unique and stable from run to run */
	char *point; /* the id without devices */
	struct parameter *parameters; /* one per axis, in axis order */
	size_t parameter_count;
	size_t *devices; /* indices into plan->devices; owned */
	size_t device_count;
	/* Estimated costs; suite->expand() sets them before plan_add(), or leaves them 0. */
	/* maximum over the devices; 0: unknown, and never a reason to skip */
	uint64_t device_bytes;
	uint64_t host_bytes; /* likewise */
	/* time for everything except sampling; 0: PLAN_SETUP_SECONDS */
	double setup_seconds;
	/* duration of the case set by its config, instead of sampling; 0: it samples */
	double fixed_seconds;
	/* time without progress, beyond the watchdog's usual limit */
	double silent_seconds;
	/* Computed by the plan from the above and the sampling keys. */
	double estimate_seconds;
	double limit_seconds; /* the watchdog kills the case after this */
	char *skip_reason;    /* NULL, or why this case cannot run here: it will be SKIPPED */
	/* required by the ranks' processes: cases with another setting need other processes */
	enum gpudirect gpudirect;
	enum run_stage stage;
	bool alone; /* confirms a value: shares no power supply of a node with other devices */
};

/* A group of nodes and its task. */
struct plan_group {
	int nodes;              /* at least 2; 0: not a group */
	int asked;              /* value of `nodes` that it serves; 0: all */
	enum suite_groups kind; /* kind of the suites that are expanded */
	int round;              /* of pairs: from 1 */
};

struct plan {
	const struct config *config; /* borrowed */
	struct device_info *devices; /* selected by the config; owned copy */
	size_t device_count;
	uint64_t host_bytes; /* host memory that the process may use; 0: unknown */
	/* The nodes of these devices, for multi-node cases; nodes 0: single-node cases. */
	struct plan_group group;
	struct plan_case *cases;
	size_t case_count, case_capacity;
	struct value **numbers; /* parameter values that are in no list of the config; owned */
	size_t number_count, number_capacity;
};

/*
 * Selects devices by [run] backend and devices, in the order of `devices` (a copy that the caller
 * frees). "auto": the GPUs, else the host. A list may contain ids of several backends. STATUS_USAGE
 * for an unknown device, with the existing ones; STATUS_UNSUPPORTED for a backend without a device.
 */
enum status plan_select_devices(const struct config *config, const struct device_info *devices,
				size_t device_count, struct device_info **selected,
				size_t *selected_count, struct error *err);

/* Expands `config` for the given devices (see plan_select_devices). */
enum status plan_build(struct plan *plan, const struct config *config,
		       const struct device_info *devices, size_t device_count, struct error *err);
/*
 * Plans multi-node cases. Ids of devices begin with the name of their node ("n1/cuda:0"), devices
 * of a node are consecutive, device.node counts from 0.
 */
enum status plan_build_group(struct plan *plan, const struct config *config,
			     const struct device_info *devices, size_t device_count,
			     const struct plan_group *group, struct error *err);
/* True if a selected section of `config` has multi-node cases. */
bool plan_has_groups(const struct config *config);
/* Distinct values of `nodes` in multi-node suites except 1, 0 for all; returns their number. */
#define PLAN_SIZES_MOST 256
size_t plan_group_sizes(const struct config *config, int64_t sizes[PLAN_SIZES_MOST]);
/*
 * Maximum of a key over the suites of pairs; for `rounds`, 0 (all) is the maximum. -1: no such
 * suites.
 */
int64_t plan_pair_setting(const struct config *config, const char *key);
void plan_release(struct plan *plan);
/*
 * Subset of `plan`: cases for which `wanted` returns true, run one at a time; skipped cases are
 * left out. Shares all data with `plan`; the caller frees only `cases`.
 */
struct plan plan_subset(const struct plan *plan,
			bool (*wanted)(const void *context, const struct plan_case *c),
			const void *context);

/*
 * For suite->expand(): adds `point` on these devices (copied; the id gets "@cuda:0" or
 * "@cuda:0,cuda:1"), to be skipped for `reason` unless it is NULL. Duplicate ids are an error.
 */
enum status plan_add(struct plan *plan, const struct plan_case *point, const size_t *devices,
		     size_t device_count, const char *reason, struct error *err);
/*
 * True if device `index` is the first of its backend: sets of devices are formed once per backend.
 */
bool plan_first_of_backend(const struct plan *plan, size_t index);
/* Calls plan_add() for each device alone. */
enum status plan_add_each(struct plan *plan, const struct plan_case *point, struct error *err);
/* Number of devices of the backend whose first device is `first`. */
size_t plan_backend_devices(const struct plan *plan, size_t first);
/*
 * Adds `point` on the first `ranks` devices of the backend whose first device is `first`; skipped
 * for `reason` (NULL: none), or if there are too few.
 */
enum status plan_add_ranks(struct plan *plan, const struct plan_case *point, size_t first,
			   int ranks, const char *reason, struct error *err);
/*
 * For suite->expand() of a group: adds `point` on all devices of the first one's backend; skipped
 * for `reason` unless it is NULL.
 */
enum status plan_add_group(struct plan *plan, const struct plan_case *point, const char *reason,
			   struct error *err);

/*
 * For suite->expand(): takes the axis (named by its key) out of `point`, where it means nothing to
 * the other
 * parameters: it is then neither in the id nor in the result. True for the axis' first value only,
 * so that the combination is planned once:
 *	if (!plan_drop_axis(point, "access"))
 *		return STATUS_OK;
 * The plan therefore makes `point->parameters` anew for each point, and the id from what is left in
 * plan_add().
 */
bool plan_drop_axis(struct plan_case *point, const char *axis);

/*
 * For suite->expand(): leaves the axis out of the id, but not out of the result, if its value is
 * `usual`. A suite that gains an axis thus keeps the ids of its former cases. Other numbers, "on",
 * "off" and words that an earlier axis may have, too, appear in the id with the parameter's name,
 * since their position does not identify them.
 */
void plan_unname_usual(struct plan_case *point, const char *axis, const char *usual);

/*
 * For suite->expand(): creates a parameter whose number is in no list of the config, such as a
 * round. The plan owns the value.
 */
struct parameter plan_number(struct plan *plan, const struct key *key, int64_t number);
/*
 * As plan_number(), replacing the config's value of an axis. Returns true for the axis' first value
 * only, so that the point is planned once.
 */
bool plan_replace_axis(struct plan *plan, struct plan_case *point, const char *axis,
		       int64_t number);

/*
 * For suite->expand() of a suite with the axis `nodes`: true if the point belongs to the planned
 * number of nodes. Leaves the value 1 out of id and result.
 */
bool plan_takes_nodes(const struct plan *plan, struct plan_case *point);

/*
 * For suite->groups_with(): true if `other` has the parameters of the `count` cases of `group`, and
 * none of their devices.
 */
bool plan_may_join(const struct plan_case *const *group, size_t count,
		   const struct plan_case *other);

/* Value of the axis `name`. An unknown name is a bug (aborts). */
const struct value *case_value(const struct plan_case *c, const char *name);
int64_t case_integer(const struct plan_case *c, const char *name);
const char *case_text(const struct plan_case *c, const char *name);
/*
 * As case_value(), for an axis that the suite may have dropped; case_find_value() then returns
 * NULL.
 */
const struct value *case_find_value(const struct plan_case *c, const char *name);
int64_t case_integer_or(const struct plan_case *c, const char *name, int64_t otherwise);
const char *case_text_or(const struct plan_case *c, const char *name, const char *otherwise);

#endif
