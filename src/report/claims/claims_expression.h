/*
 * Values and bounds of measures, as claims_read.h describes them: "1 - METRIC at POINT / METRIC at
 * POINT".
 */
#ifndef GPUPROOF_REPORT_CLAIMS_CLAIMS_EXPRESSION_H
#define GPUPROOF_REPORT_CLAIMS_CLAIMS_EXPRESSION_H

#include "base/error.h"
#include "plan/schema.h"
#include "report/claims/claims.h"

/* An entry of [points]. */
struct claim_point {
	const char *name, *where;
};

struct claim_points {
	struct claim_point *items;
	size_t count, capacity;
};

/*
 * Sets the terms and `complement` of the measure. Texts that it needs are added to those of the
 * group.
 */
enum status claim_value_read(struct claim_measure *measure, struct claim_group *group,
			     const struct schema *schema, const struct claim_points *points,
			     const char *text, struct error *err);
/* A bound in the unit of the measure, whose terms and `across` are set. */
enum status claim_bound_read(const struct claim_measure *measure, const struct schema *schema,
			     const char *text, double *bound, struct error *err);

/* A copy of `text` that lives as long as the group. */
const char *claim_group_keep(struct claim_group *group, const char *text);

#endif
