/*
 * Open Compute Project Test & Validation output, version 2.0: line-delimited JSON
 * (opencomputeproject/ocp-diag-core, json_spec). Complete with `export ocp`, or line by line during
 * the run (`run --events`); the stream of a killed run has no end.
 *
 * A step per case, then one for the limits, whose diagnoses name causes (result/causes/cause.h). At
 * the end, COMPLETE with PASS or FAIL is the verdict, ERROR an inconclusive one, SKIP a run without
 * a verdict: OCP has no other word for the last two that is neither PASS nor FAIL.
 */
#ifndef GPUPROOF_EXPORT_OCP_H
#define GPUPROOF_EXPORT_OCP_H

#include <stdbool.h>

#include "base/text.h"
#include "result/result.h"

struct ocp_stream {
	struct text *out;            /* receives the lines */
	const struct result *result; /* result of the devices; set by ocp_begin() */
	bool live;                   /* use the current time instead of the result's timestamps */
	size_t sequence, steps;      /* private */
};

/* `header` needs no cases yet; it must live until ocp_end() or another ocp_begin(). */
void ocp_begin(struct ocp_stream *stream, const struct result *header);
void ocp_case(struct ocp_stream *stream, const struct case_result *c);
/* Writes findings, judgement and the end of the run; `result` is complete. */
void ocp_end(struct ocp_stream *stream, const struct result *result);

#endif
