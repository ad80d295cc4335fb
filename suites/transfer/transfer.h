/* Private declarations of the transfer suite. */
#ifndef GPUPROOF_SUITES_TRANSFER_TRANSFER_H
#define GPUPROOF_SUITES_TRANSFER_TRANSFER_H

#include "measure/run.h"
#include "suites/transfer/direction.h"
#include "suites/transfer/lane.h"

/* plan.c: transfer_plan_expand(), and the meaning of a case's parameters. */
enum status transfer_plan_expand(struct plan *plan, struct plan_case *point, struct error *err);
/* Optional parameters, with their defaults. */
bool transfer_plan_by_kernel(const struct plan_case *c); /* no */
bool transfer_plan_cold(const struct plan_case *c);      /* no */

/* Largest cache that could contain a block: the device's, or with `host` that of the host. */
uint64_t transfer_plan_cache(const struct device_info *info, bool host);
/*
 * Number of blocks that a case rotates through so that none is in a cache of the device, or with
 * `cold` of the host.
 */
size_t transfer_plan_slots(enum direction direction, bool cold, size_t bytes,
			   const struct device_info *info);
/* Bytes of one copy of route `index` in a case with copies of `bytes`. */
size_t transfer_plan_route_bytes(const struct plan_case *c, size_t index);
/* True if one kernel executes a route and the next one, its reverse. */
bool transfer_plan_reverses(const struct plan_case *c);

#define TIMINGS_MAX 2

/* Bounds of a median, in seconds. */
struct bounds {
	double low, median, high;
};

/* group.c: findings about copies between pairs; direction and engine determine their path. */
struct pair_kind {
	bool disturbs, known;
	size_t bytes;
	struct bounds alone[TIMINGS_MAX]; /* the reference */
	char pair[2][32];                 /* names of the pair */
};

/* State kept between cases: run->suite_state. */
struct transfer_state {
	struct pool pool;
	struct access access;
	struct pair_kind kinds[DIRECTION_COUNT][2]; /* by the engine: copy engines, kernel */
};

/* One timed quantity of a case. */
struct timing {
	const char *name; /* of the series */
	struct workload workload;
	size_t series; /* index in the result, where all timings are sampled in order */
	/*
	 * group.c: it is slower in a concurrent group, so `series` was sampled alone; the index of
	 * the other series.
	 */
	bool apart;
	size_t grouped;
};

/* A lane timed while the others are busy. */
struct contended_copy {
	struct transfer *t;
	size_t timed; /* lane */
	struct event *start;
};

struct transfer {
	struct run *run;
	enum direction direction;
	const struct direction_info *info;
	enum allocator memory; /* host memory */
	bool staged;           /* between devices with access disabled */
	size_t bytes, slots;
	struct route *routes; /* with room for ROUTES_MOST of the case's devices, as below */
	struct transfer_lane *lanes;
	size_t lane_count;
	struct stream **streams; /* the lanes' */
	struct timing timings[TIMINGS_MAX];
	size_t timing_count;
	struct contended_copy contended[TIMINGS_MAX];
	struct chase *chase; /* of latency.c; NULL: copies */
};

const struct series *transfer_case_series(const struct transfer *t, size_t timing);

/*
 * latency.c: the same steps for a case of TIME_CHASE, with its own memory and verification, and the
 * memory at its end of the link. transfer_latency_chase_close() also closes one that failed to
 * open.
 */
enum status transfer_latency_chase_open(struct transfer *t, struct error *err);
enum status transfer_latency_chase_check(struct transfer *t, const char *when, struct error *err);
void transfer_latency_chase_record(struct transfer *t);
void transfer_latency_chase_close(struct transfer *t);
uint64_t transfer_latency_chase_footprint(size_t bytes);

/* case.c: the steps of a case before timing, and from there on. */
enum status transfer_case_open(struct transfer *t, struct run *run, struct error *err);
enum status transfer_case_finish(struct transfer *t, struct error *err);
void transfer_case_close(struct transfer *t);

/* group.c: see src/plan/suite.h. */
bool transfer_groups_with(const void *state, const struct plan_case *const *group, size_t count,
			  const struct plan_case *other);
void transfer_run_group(struct run *const *runs, size_t count, struct error *errs);

/* Notes the NUMA nodes of the case's host memory; nothing if there is no choice. */
void transfer_case_note_nodes(struct run *run, const int *nodes, size_t count);

#endif
