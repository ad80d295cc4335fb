/* Parts of the fleet page: nodes by suites, and how a cohort scatters. */
#ifndef GPUPROOF_REPORT_COHORT_COHORT_MATRIX_H
#define GPUPROOF_REPORT_COHORT_COHORT_MATRIX_H

#include "history/fleet/fleet.h"
#include "report/template/tree.h"

/* A row per node, those with findings first: how far it is from the others in each suite. */
void fleet_matrix(const struct fleet *fleet, struct tree *page);
/* A strip for the cohort of each finding; without findings, for that with the farthest device. */
void fleet_strips(const struct fleet *fleet, struct tree *page);

#endif
