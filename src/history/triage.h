/*
 * Decisions of people about changes and findings, so that alarms are about what was not looked at
 * yet.
 *
 *	expected, wontfix, false-alarm, tracked   closed, until the decision ends (--until)
 *	fixed                                     closed; open again when it is still there after
 *						  TRIAGE_NIGHTS nights
 *	open                                      takes back what was decided before
 *
 * A decision is about what began on its day or before: what comes back after a recovery is open.
 * Of several the last one written counts.
 */
#ifndef GPUPROOF_HISTORY_TRIAGE_H
#define GPUPROOF_HISTORY_TRIAGE_H

#include "history/history.h"

#define TRIAGE_NIGHTS 3
#define ACKNOWLEDGED_WITHIN \
	5 /* days around a change that an acknowledgement without a state covers */

/* A change of a series, or a finding on a device or a node; NULL: unknown. */
struct triage_subject {
	int64_t series; /* 0: no single series */
	const char *host, *machine, *case_id, *metric;
	int64_t since;       /* day on which it started */
	const int64_t *days; /* days of its nights, ascending */
	size_t count;
	int64_t today; /* day of the last night: earlier ends of decisions have expired */
};

/* The decision that closes the subject; NULL: it is open. */
const struct history_note *triage_decision(const struct history_notes *notes,
					   const struct triage_subject *subject);

/*
 * "tracked by anna until 2026-12-01: new riser ordered (https://...)"; the caller frees the string.
 */
char *triage_words(const struct history_note *decision);

/*
 * As triage_words(), for any decision, with its subject: "tracked ...: ...; node7". The caller
 * frees the string.
 */
char *triage_note_words(const struct history_note *decision);

/*
 * Writes a decision. `note`: text, state, by, ticket, until, series, host, machine, case_id,
 * metric, and day (0: the last night). STATUS_USAGE if no night has the host or the device, the end
 * is before the day, or the subject is missing. `machine` may be a UUID, a serial number or
 * "HOST/cuda:3".
 */
enum status triage_decide(struct store *store, const struct history_note *note, struct error *err);

#endif
