/*
 * The fleet page compares node with node (history/fleet/fleet.h) in one HTML page: slow and missing
 * nodes, a map of nodes by suites, and how the cohort of each finding varies. The page of one node
 * or device shows its nights next to the others'.
 */
#ifndef GPUPROOF_REPORT_COHORT_COHORT_PAGE_H
#define GPUPROOF_REPORT_COHORT_COHORT_PAGE_H

#include "history/fleet/fleet.h"
#include "report/page/report.h"

/* Into options->output. Of `options` the title, template_dir and separate_css count, too. */
enum status report_cohorts_write(const struct fleet *fleet, const struct report_options *options,
				 struct error *err);
enum status report_node_write(const struct fleet *fleet, const struct fleet_subject *subject,
			      const struct report_options *options, struct error *err);

#endif
