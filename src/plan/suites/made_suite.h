/* A copy of a suite with keys, axes and metrics of its own. */
#ifndef GPUPROOF_PLAN_SUITES_MADE_SUITE_H
#define GPUPROOF_PLAN_SUITES_MADE_SUITE_H

#include "plan/ini/document.h"
#include "plan/suite.h"
#include "plan/suites/adapt.h"

struct made_suite {
	struct suite suite;
	bool is_common;            /* of all sections of the suite; not the one of a section */
	struct made_suite *common; /* NULL: it is common itself */
	/* Tables of the suite; each ends as suite.h says. */
	struct key *keys;
	const char **axes;
	struct metric *metrics;
	size_t key_count, axis_count, metric_count;
	char **texts; /* of its tables */
	size_t text_count, text_capacity;
};

/* The section that is adapted. */
struct adaption {
	struct document *document;
	struct document_section *section;
	struct made_suite *own, *common;
};

struct made_suite *made_suite_of(const struct suite *base);
void made_suite_free(struct made_suite *made);
/* A copy that lasts as long as the suite. */
const char *made_suite_text(struct made_suite *made, const char *text);
void made_suite_add_metric(struct made_suite *made, const struct metric *metric);
/* Unless it has a key of that name: then words, where the types differ. */
void made_suite_add_key(struct made_suite *made, const struct key *key);
/* The same, as an axis. */
void made_suite_add_axis(struct made_suite *made, const struct key *key);

#endif
