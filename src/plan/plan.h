/*
 * The plan: every case that a config asks for on the devices that are there,
 * in the order in which they run, before anything runs.
 *
 * A suite's list keys named in suite->axes span the sweep: the plan walks their
 * cartesian product (the first axis slowest) and hands each point to
 * suite->expand(), which drops it, or places it on devices with plan_add().
 */
#ifndef GPUPROOF_PLAN_PLAN_H
#define GPUPROOF_PLAN_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "device/device_info.h"
#include "device/ranks/gpudirect.h"
#include "plan/config.h"
#include "plan/suite.h"

/* Most cases of one plan: beyond it a sweep is a mistake. */
#define PLAN_MAX_CASES 100000
/*
 * setup_seconds of a case whose suite estimates none: allocations, a verification, a first launch.
 */
#define PLAN_SETUP_SECONDS 0.1

struct parameter {
	const struct key *key;     /* the axis */
	const struct value *value; /* borrowed from the config */
	bool unnamed, labelled;    /* not in the id; there as "batch=4": see plan_unname_usual() */
};

struct plan_case {
	size_t index; /* in the plan */
	const struct suite *suite;
	const struct section *section; /* this variant's settings that are not axes */
	char *id;    /* "transfer/h2d/pinned/64MiB@cuda:0"; unique and stable from run to run */
	char *point; /* the id without devices */
	struct parameter *parameters; /* one per axis, in axis order */
	size_t parameter_count;
	size_t *devices; /* indices into plan->devices; owned */
	size_t device_count;
	/* Estimated cost; suite->expand() fills these before plan_add(), or leaves them 0. */
	/* largest need on any one device; 0: unknown, so that nothing is skipped for it */
	uint64_t device_bytes;
	uint64_t host_bytes; /* likewise */
	/* estimate of everything that is not sampling; 0: PLAN_SETUP_SECONDS */
	double setup_seconds;
	/* how long the case lasts by its config, instead of sampling; 0: it samples */
	double fixed_seconds;
	/* may pass without a sign of life, beyond what the watchdog allows anyway */
	double silent_seconds;
	/* Derived by the plan from the above and the sampling keys. */
	double estimate_seconds;
	double limit_seconds; /* the watchdog kills the case after this */
	char *skip_reason;    /* NULL, or why this case cannot run here: it becomes SKIPPED */
	/* of the ranks' processes: cases with another one get other processes */
	enum gpudirect gpudirect;
	bool alone; /* confirms a figure: shares no node's power with other devices */
};

/* A group of nodes and what it is to do. */
struct plan_group {
	int nodes;              /* at least 2; 0: no group */
	int asked;              /* the value of `nodes` that it is for; 0: all */
	enum suite_groups kind; /* of the suites that are expanded */
	int round;              /* of pairs, or of a bisection: from 1 */
	const char *point;      /* a bisection's: of this point alone (borrowed); NULL: of all */
};

struct plan {
	const struct config *config; /* borrowed */
	struct device_info *devices; /* those selected by the config; owned copy */
	size_t device_count;
	uint64_t host_bytes; /* host memory that the process may use; 0: unknown */
	/* Several nodes together, whose devices these are; nodes 0: cases of one node. */
	struct plan_group group;
	struct plan_case *cases;
	size_t case_count, case_capacity;
	struct value **numbers; /* of parameters that no list of the config has; owned */
	size_t number_count, number_capacity;
};

/*
 * The devices that [run] backend and devices select, in the order of `devices` (a copy that the
 * caller frees). "auto": the GPUs, else the host; a list may name devices of several backends by
 * id. An unknown device is STATUS_USAGE naming those that exist, a backend without a device
 * STATUS_UNSUPPORTED.
 */
enum status plan_select_devices(const struct config *config, const struct device_info *devices,
				size_t device_count, struct device_info **selected,
				size_t *selected_count, struct error *err);

/* Expands `config` for the devices given (see plan_select_devices). */
enum status plan_build(struct plan *plan, const struct config *config,
		       const struct device_info *devices, size_t device_count, struct error *err);
/*
 * The cases of several nodes together. Ids of devices begin with their node's name ("n1/cuda:0"),
 * each node's follow one another, device.node counts from 0.
 */
enum status plan_build_group(struct plan *plan, const struct config *config,
			     const struct device_info *devices, size_t device_count,
			     const struct plan_group *group, struct error *err);
/* True if a section of `config` that is chosen has cases of several nodes together. */
bool plan_has_groups(const struct config *config);
/* Distinct numbers of nodes but 1 that suites of nodes ask for, 0 for all; how many there are. */
#define PLAN_SIZES_MOST 256
size_t plan_group_sizes(const struct config *config, int64_t sizes[PLAN_SIZES_MOST]);
/*
 * The highest value of a key of suites of pairs; 0 of `rounds`, which is all, before any. -1: there
 * are no such suites.
 */
int64_t plan_pair_setting(const struct config *config, const char *key);
void plan_release(struct plan *plan);
/*
 * The cases to measure again that `wanted` names, in their order, each by itself; none that are
 * skipped. Borrows everything from `plan` but the array, which the caller frees.
 */
struct plan plan_subset(const struct plan *plan,
			bool (*wanted)(const void *context, const struct plan_case *c),
			const void *context);

/*
 * For suite->expand(): adds `point` on these devices (copied; the id gets "@cuda:0" or
 * "@cuda:0,cuda:1"). Duplicate ids are an error.
 */
enum status plan_add(struct plan *plan, const struct plan_case *point, const size_t *devices,
		     size_t device_count, struct error *err);
/*
 * True if no earlier device has the backend of device `index`: sets of devices are made once for
 * each backend.
 */
bool plan_first_of_backend(const struct plan *plan, size_t index);
/* plan_add() on each device by itself. */
enum status plan_add_each(struct plan *plan, const struct plan_case *point, struct error *err);
/* How many devices the backend of device `first`, its first one, has. */
size_t plan_backend_devices(const struct plan *plan, size_t first);
/*
 * Adds `point` on the first `ranks` devices of the backend whose first device is `first`; as
 * skipped for `reason` (NULL: none), or because there are fewer.
 */
enum status plan_add_ranks(struct plan *plan, const struct plan_case *point, size_t first,
			   int ranks, const char *reason, struct error *err);
/*
 * For suite->expand() of a group: adds `point` on all devices of the first one's backend; as
 * skipped for `reason`, unless it is NULL.
 */
enum status plan_add_group(struct plan *plan, const struct plan_case *point, const char *reason,
			   struct error *err);
/*
 * Why a case of several devices is skipped: "needs 4 devices, cuda has 2"; of the host also how to
 * have more.
 */
char *plan_too_few(int needed, const char *backend, size_t has, char *out, size_t size);
/* Like plan_add(), for a case that is known and asked for but impossible here: becomes SKIPPED. */
enum status plan_add_skipped(struct plan *plan, const struct plan_case *point,
			     const size_t *devices, size_t device_count, const char *reason,
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
 * For suite->expand(): leaves the axis out of the id, not out of the result, where its value is
 * `usual`. So a suite that gains an axis keeps the ids of the cases it had. Other numbers are in
 * the id with the parameter's name, since their position does not identify them.
 */
void plan_unname_usual(struct plan_case *point, const char *axis, const char *usual);

/*
 * For suite->expand(): a parameter whose number no list of the config has, such as a round. The
 * value is the plan's.
 */
struct parameter plan_number(struct plan *plan, const struct key *key, int64_t number);
/*
 * The same in place of what the config has for the axis. True for the axis' first value only, so
 * that the point is planned once.
 */
bool plan_replace_axis(struct plan *plan, struct plan_case *point, const char *axis,
		       int64_t number);

/*
 * For suite->expand() of a suite with the axis `nodes`: true if the point is one of the nodes that
 * are planned. 1 is left out of the id and the result.
 */
bool plan_takes_nodes(const struct plan *plan, struct plan_case *point);

/* The parameter of axis `name`. Asking for another is a bug (aborts). */
const struct value *case_value(const struct plan_case *c, const char *name);
int64_t case_integer(const struct plan_case *c, const char *name);
const char *case_text(const struct plan_case *c, const char *name);
/* The same of an axis that the suite may have dropped; case_find_value(): then NULL. */
const struct value *case_find_value(const struct plan_case *c, const char *name);
int64_t case_integer_or(const struct plan_case *c, const char *name, int64_t otherwise);
const char *case_text_or(const struct plan_case *c, const char *name, const char *otherwise);

#endif
