/*
 * Lines that a worker sends up its pipe, and the lines of the journal: one JSON object with one
 * member each.
 *
 *      {"start":12}            begins with case 12 of the plan: opens what it needs
 *      {"ready":12}            devices are open: the case's time limit counts from here
 *      {"progress":{"samples":30,"median":1.2e-05,"half_width":0.004}}
 *      {"case":{...}}          the case in flight is finished
 *      {"partial":{...}}       the same for a case that was interrupted: kept, but done again on
 *                              --resume
 *      {"lost":{...}}          in the journal only: a worker was lost; the next case reports it,
 *                              else the last one
 *
 * These frames are written and read here only, so they are matched as text; what is in a case is
 * the result's business.
 */
#ifndef GPUPROOF_RUN_WORKERS_MESSAGE_H
#define GPUPROOF_RUN_WORKERS_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/text.h"
#include "result/result.h"

enum message_kind {
	MESSAGE_START,
	MESSAGE_READY,
	MESSAGE_PROGRESS,
	MESSAGE_CASE,
	MESSAGE_PARTIAL,
	MESSAGE_LOST
};

struct message {
	enum message_kind kind;
	size_t index;              /* start, ready */
	size_t samples;            /* progress */
	double median, half_width; /* progress; NaN: not yet */
	const char *json;          /* case, partial, lost: the object, within the line */
	size_t json_length;
	const char *line; /* all of it, without its line break */
	size_t line_length;
};

/* Each adds one line with its line break. */
void worker_message_add_index(struct text *to, enum message_kind kind, size_t index);
void worker_message_add_progress(struct text *to, size_t samples, double median, double half_width);
void worker_message_add_case(struct text *to, bool partial, const struct case_result *c);
void worker_message_add_lost(struct text *to, const struct lost_worker *lost);

/* `line` without its line break. Returns false when it is no such line. */
bool worker_message_parse(const char *line, size_t length, struct message *out);

#endif
