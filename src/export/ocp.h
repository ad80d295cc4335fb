/*
 * A run as the Open Compute Project's Test & Validation output, version 2.0: line-delimited JSON
 * (opencomputeproject/ocp-diag-core, json_spec). Whole by `export ocp`, or line by line while the
 * run proceeds (`run --events`): a run that is killed is a stream without end.
 *
 * A step per case, then one for the limits, whose diagnoses name causes (result/causes/cause.h).
 * The
 * end: COMPLETE with PASS or FAIL is the verdict; ERROR one that could not be reached; SKIP a run
 * that nothing judged. OCP has no word for the last two that says neither PASS nor FAIL otherwise.
 */
#ifndef GPUPROOF_EXPORT_OCP_H
#define GPUPROOF_EXPORT_OCP_H

#include <stdbool.h>

#include "base/text.h"
#include "result/result.h"

struct ocp_stream {
	struct text *out;            /* lines are appended */
	const struct result *result; /* of the devices; set by ocp_begin() */
	bool live;                   /* timestamps are the present time, not the result's */
	size_t sequence, steps;      /* private */
};

/* `header` needs no cases yet; it must stay until ocp_end() or a further ocp_begin(). */
void ocp_begin(struct ocp_stream *stream, const struct result *header);
void ocp_case(struct ocp_stream *stream, const struct case_result *c);
/* Findings, judgement and the end of the run; `result` is whole. */
void ocp_end(struct ocp_stream *stream, const struct result *result);

#endif
