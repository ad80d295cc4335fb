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
enum status cohort_page_write(const struct fleet *fleet, const struct report_options *options,
			      struct error *err);
enum status node_page_write(const struct fleet *fleet, const struct fleet_subject *subject,
			    const struct report_options *options, struct error *err);

struct tree;
/* "n028 cuda:0", "n013", "slot cuda:5"; malloc'ed. */
char *node_page_cohort_finding_name(const struct fleet *fleet, const struct fleet_finding *finding);
/* Part of both pages: at most `most` findings, those about the subject (NULL: all). */
void node_page_cohort_findings_show(const struct fleet *fleet, const struct fleet_subject *subject,
				    size_t most, struct tree *page);

#endif
