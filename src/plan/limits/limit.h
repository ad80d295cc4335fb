/*
 * Limits: what a metric must satisfy, as [limit NAME] sections say it.
 *
 *	[limit pcie]
 *	metric = transfer.bandwidth
 *	where = direction:h2d|d2h, memory:pinned, size:>=64MiB
 *	min = 0.85 * spec.pcie_bandwidth
 *
 * A bound is a value with unit ("47 GB/s"), a share of a data-sheet figure ("0.85 *
 * spec.memory_bandwidth"; spec.peak is the one that bounds the case, by its precision and the
 * device's architecture) or a share of the baseline ("0.97 * baseline"); `outlier_margin = 2 %`
 * compares the identical devices of one node with each other (`outlier_margin_warn = 1 %` warns
 * before that), `fleet = 3 %` those of all nodes of the run, `population = 3 %` compares each with
 * good cards of its model. Nothing is evaluated as code.
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
 *
 * Ownership: a limit owns its texts; `metric` and `suite` are the schema's.
 *
 * Adding limits of a GPU model: configs/limits/<name>.ini, named as the model's file in
 * configs/gpus. It includes limits/datasheet and says what differs; each limit says its `origin`.
 * tests/unit/judge/test_limits.c holds them against the config acceptance and published figures.
 * Adding a limit of the node: a row in node_metrics (limit.c), its value in src/judge/node.c.
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
	double factor; /* of the figure; BOUND_ABSOLUTE: the value itself, in the metric's unit */
	char *spec;    /* BOUND_SPEC: which figure; else NULL */
	char *text;    /* as written; NULL for BOUND_NONE */
	char *place;   /* "nightly.ini:12" */
};

enum condition_test { CONDITION_IS, CONDITION_AT_LEAST, CONDITION_AT_MOST };

struct condition {
	char *name; /* parameter, or "device", "model", "backend", "label" */
	enum condition_test test;
	char **words; /* CONDITION_IS: any of them, in canonical form */
	size_t word_count;
	double number; /* else */
};

enum limit_severity { LIMIT_FAILS, LIMIT_WARNS };

struct limit {
	char *name;
	char *place; /* of its section */
	const struct metric *metric;
	const struct suite *suite; /* NULL: a metric of the node */
	struct condition *conditions;
	size_t condition_count;
	struct bound min, max;
	/* ratio below (or above) the median of the identical devices; NaN: not compared */
	double outlier_margin;
	double outlier_margin_warn; /* a smaller one, from which on it is a warning; NaN: none */
	char *outlier_text, *outlier_warn_text, *outlier_place;
	/* ratio below (or above) the median of all of the model on all nodes; NaN: not compared */
	double fleet;
	char *fleet_text, *fleet_place;
	/*
	 * ratio below what good cards of the model reach (reference/population.h); NaN: not
	 * compared
	 */
	double population;
	char *population_text, *population_place;
	/* all three: and this many robust standard deviations of what it is compared with */
	double sigmas;
	/* typical standard deviation between launches, a ratio; 0: that of the figure's kind */
	double launch_spread;
	size_t devices; /* number of different devices that must be judged; 0: all */
	enum limit_severity severity;
	bool allow_skipped, accept_derived;
	char *origin; /* where the number comes from, in words */
};

/* Called for each problem, with the key that it is about. */
typedef void limit_problem_fn(void *context, const char *key, const char *message);

/* Reads a section of kind "limit". False when there was a problem; `limit` is then empty. */
bool limit_read(struct limit *limit, const struct section *section, const struct schema *schema,
		limit_problem_fn *problem, void *context);
void limit_release(struct limit *limit);

#define NODE_SUSPECT "node.suspect" /* judged node by node */
/* Metrics of a node as a whole; ends with { 0 }. */
extern const struct metric node_metrics[];

/* Sets the metric of that name and its suite; an error names the nearest. */
enum status limit_read_metric(struct limit *limit, const struct schema *schema, const char *name,
			      struct error *err);

/*
 * Parts of limit_read(): bound.c, condition.c. On failure the target holds what limit_release()
 * frees.
 */
enum status bound_read(struct bound *bound, const char *text, const struct metric *metric,
		       struct error *err);
enum status conditions_read(struct limit *limit, const char *text, struct error *err);

#endif
