/* One case of the transfer suite, as its files share it. */
#ifndef GPUPROOF_SUITES_TRANSFER_TRANSFER_H
#define GPUPROOF_SUITES_TRANSFER_TRANSFER_H

#include "measure/run.h"
#include "suites/transfer/direction.h"
#include "suites/transfer/lane.h"

/* plan.c: transfer_expand(), and what a case's parameters say. */
enum status transfer_expand(struct plan *plan, struct plan_case *point, struct error *err);
/* Parameters that a case need not have; what is meant where they are missing. */
bool transfer_by_kernel(const struct plan_case *c); /* no */
bool transfer_cold(const struct plan_case *c);      /* no */

/* Blocks that a case rotates over so that none is in a cache of the device, or with `cold` of the host. */
size_t transfer_slots(enum direction direction, bool cold, size_t bytes,
		      const struct device_info *info);
/* Bytes of one copy of route `index` of a case with copies of `bytes`. */
size_t transfer_route_bytes(const struct plan_case *c, size_t index);
/* Whether one kernel carries out a route and the one behind it, which leads back. */
bool transfer_twins(const struct plan_case *c);

struct transfer {
	struct run *run;
	enum direction direction;
	const struct direction_info *info;
	enum allocator memory; /* host memory */
	bool staged;           /* between devices with access off */
	size_t bytes, slots;
	struct route routes[ROUTES_MAX];
	struct lane lanes[ROUTES_MAX];
	size_t lane_count;
};

/* measure.c: samples the lanes as the direction says and records the metrics. */
enum status transfer_measure(struct transfer *t, struct error *err);

/* latency.c: a case of TIME_CHASE, verification included; and the memory it takes at its end of the link. */
enum status transfer_chase(struct transfer *t, struct error *err);
uint64_t chase_footprint(size_t bytes);

/* Says on which NUMA nodes the case's host memory is; nothing where there is no choice. */
void transfer_note_nodes(struct run *run, const int *nodes, size_t count);

#endif
