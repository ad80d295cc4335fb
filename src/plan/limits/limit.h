/*
 * Limits: requirements on a metric, from [limit NAME] sections.
 *
 *	[limit pcie]
 *	metric = transfer.bandwidth
 *	where = direction:h2d|d2h, memory:pinned, size:>=64MiB
 *	min = 0.85 * spec.pcie_bandwidth
 *
 * A bound is a value with unit ("47 GB/s"), a fraction of a data-sheet value ("0.85 *
 * spec.memory_bandwidth"; spec.peak is the value that bounds the case, by its precision and the
 * device's architecture) or a fraction of the baseline ("0.97 * baseline"). `outlier_margin = 2 %`
 * compares the identical devices of one node with each other (`outlier_margin_warn = 1 %` warns
 * before that), `fleet = 3 %` those of all nodes of the run, `population = 3 %` each device with
 * reference GPUs of its model. Nothing is evaluated as code.
 *
 * `where` narrows the cases: parameters of the suite by their names in results, and the words
 * below. Alternatives are separated by '|', numbers may be bounded with >= and <=.
 *      device:cuda:0   the case uses this device
 *      label:big       the variant [suite NAME big]
 *      model:H200      the name of the case's first device holds this text, from the start of a
 *                      word on
 *      backend:cuda    the backend of the case's first device
 *      node:n01*       the case was measured on this node of a run on several, or on it with
 *                      others; '*', '?' and [sets] as in names of files
 * A parameter that the case chose itself (transport = auto) has the value that it chose; `nodes` is
 * 1 for a case on one node.
 *
 * A limit owns its texts; `metric` and `suite` belong to the schema.
 *
 * Adding limits of a GPU model: add configs/limits/<name>.ini with the name of the model's file in
 * configs/gpus. It includes limits/datasheet and contains the differences; each limit states its
 * `origin`. tests/unit/judge/test_limits.c compares them with the config acceptance and published
 * values. Adding a limit of a node: add a row to node_metrics (limit.c) and its value in
 * src/judge/node.c.
 */
#ifndef GPUPROOF_PLAN_LIMITS_LIMIT_H
#define GPUPROOF_PLAN_LIMITS_LIMIT_H

#include <stdbool.h>
#include <stddef.h>

#include "plan/schema.h"
#include "result/metric.h"

enum bound_kind { BOUND_NONE, BOUND_ABSOLUTE, BOUND_SPEC, BOUND_BASELINE };

struct bound {
	enum bound_kind kind;
	/* factor on the reference value; BOUND_ABSOLUTE: the value itself, in the metric's unit */
	double factor;
	char *spec;  /* BOUND_SPEC: name of the data-sheet value; else NULL */
	char *text;  /* as written; NULL for BOUND_NONE */
	char *place; /* "nightly.ini:12" */
};

enum condition_test { CONDITION_IS, CONDITION_AT_LEAST, CONDITION_AT_MOST };

struct condition {
	char *name; /* parameter, or "device", "model", "backend", "label" */
	enum condition_test test;
	char **words; /* CONDITION_IS: matches any of these, in canonical form */
	size_t word_count;
	double number; /* else */
};

enum limit_severity { LIMIT_FAILS, LIMIT_WARNS };

struct limit {
	char *name;
	char *place; /* location of its section */
	const struct metric *metric;
	const struct suite *suite; /* NULL: a metric of the node */
	struct condition *conditions;
	size_t condition_count;
	struct bound min, max;
	/* ratio below (or above) the median of the identical devices; NaN: no comparison */
	double outlier_margin;
	double outlier_margin_warn; /* smaller margin that causes a warning; NaN: none */
	char *outlier_text, *outlier_warn_text, *outlier_place;
	/* ratio below (or above) the median of the model on all nodes; NaN: no comparison */
	double fleet;
	char *fleet_text, *fleet_place;
	/*
	 * ratio below the reference GPUs of the model (reference/population.h); NaN: no comparison
	 */
	double population;
	char *population_text, *population_place;
	/*
	 * for all three: also required distance in robust standard deviations of the compared
	 * values
	 */
	double sigmas;
	/* standard deviation between launches, a ratio; 0: that of the metric's kind */
	double launch_spread;
	size_t devices; /* number of devices that must be judged; 0: all */
	enum limit_severity severity;
	bool allow_skipped, accept_derived;
	char *origin; /* source of the number, as text */
};

/* Called for each problem, with the key that has it. */
typedef void limit_problem_fn(void *context, const char *key, const char *message);

/* Reads a section of kind "limit". False if there was a problem; `limit` is then empty. */
bool limit_read(struct limit *limit, const struct section *section, const struct schema *schema,
		limit_problem_fn *problem, void *context);
void limit_release(struct limit *limit);

#define NODE_SUSPECT "node.suspect" /* judged node by node */
/* Metrics of a whole node; terminated by { 0 }. */
extern const struct metric node_metrics[];

/* Sets metric and suite by the metric's name; an error names the most similar one. */
enum status limit_read_metric(struct limit *limit, const struct schema *schema, const char *name,
			      struct error *err);

/* Parts of limit_read(). After a failure, limit_release() frees the target. */
/* "47 GB/s", "0.85 * spec.pcie_bandwidth", "97 % * baseline", "spec.memory" */
enum status plan_limit_bound_read(struct bound *bound, const char *text,
				  const struct metric *metric, struct error *err);
/* "direction:h2d|d2h, size:>=64MiB" */
enum status plan_limit_conditions_read(struct limit *limit, const char *text, struct error *err);

#endif
