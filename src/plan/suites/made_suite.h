/* A copy of a suite with additional keys, axes and metrics. */
#ifndef GPUPROOF_PLAN_SUITES_MADE_SUITE_H
#define GPUPROOF_PLAN_SUITES_MADE_SUITE_H

#include "plan/ini/document.h"
#include "plan/suite.h"
#include "plan/suites/adapt.h"

struct made_suite {
	struct suite suite;
	/* shared by all sections of the suite; not the copy of one section */
	bool is_common;
	struct made_suite *common; /* NULL: this is the common copy */
	/* Tables of the suite, terminated as in suite.h. */
	struct key *keys;
	const char **axes;
	struct metric *metrics;
	size_t key_count, axis_count, metric_count;
	char **texts; /* texts of its tables */
	size_t text_count, text_capacity;
};

/* State while a section is adapted. */
struct adaption {
	struct document *document;
	struct document_section *section;
	struct made_suite *own, *common;
};

struct made_suite *made_suite_of(const struct suite *base);
void made_suite_free(struct made_suite *made);
/* Copies a text; the copy lives as long as the suite. */
const char *made_suite_text(struct made_suite *made, const char *text);
void made_suite_add_metric(struct made_suite *made, const struct metric *metric);
/* Adds a key unless it exists; if the types differ it becomes a key of words. */
void made_suite_add_key(struct made_suite *made, const struct key *key);
/* As made_suite_add_key(), for an axis. */
void made_suite_add_axis(struct made_suite *made, const struct key *key);

#endif
