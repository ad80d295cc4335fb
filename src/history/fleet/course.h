/*
 * Nightly deviation of a node or device from the median of its cohorts (fleet.h). Effects common to
 * the cohort, such as room temperature or a driver update, cancel.
 */
#ifndef GPUPROOF_HISTORY_FLEET_COURSE_H
#define GPUPROOF_HISTORY_FLEET_COURSE_H

#include "history/fleet/fleet.h"

/* A node, or one of its devices. */
struct fleet_subject {
	size_t host;         /* of a device: its last host */
	const char *machine; /* of a device; NULL: the whole node */
};

/* Logarithms, oriented so that more is better; NaN: not measured. */
struct course_night {
	int64_t day;
	double own; /* value of the subject; of a node: median of its devices */
	/* median of the other nodes' medians; for a device: of the other devices */
	double others;
	double low, high; /* 10th and 90th percentile of the others */
	/*
	 * Half-width of the 95 % interval of own - others: night-to-night noise of `own` (from the
	 * cohort), and the others' median by their MAD. NaN: too few nights or others.
	 */
	double half;
	size_t count; /* others */
};

/* Deviation of the subject in one cohort. */
struct course {
	size_t cohort, devices; /* index of the cohort; devices of the subject in it */
	struct course_night *nights;
	size_t count;
	/* own - others over the nights of the level: median, half-width of its 95 % interval */
	double away, half;
	size_t recent;
};

/*
 * Finds "node7", a serial number, a UUID, or "node7/cuda:3". Otherwise STATUS_USAGE, with existing
 * nodes in the message.
 */
enum status fleet_find_subject(const struct fleet *fleet, const char *name,
			       struct fleet_subject *out, struct error *err);
/*
 * "node7, 8 devices, rack:3", "node7 cuda:3, 0000:19:00.0, serial 16 (GPU-5f..)"; the caller frees
 * the string.
 */
char *fleet_subject_name(const struct fleet *fleet, const struct fleet_subject *subject);
bool fleet_finding_is_about(const struct fleet *fleet, const struct fleet_finding *finding,
			    const struct fleet_subject *subject);
/*
 * Lists the cohorts of the subject, worst first; returns their number. The caller calls
 * courses_release() once.
 */
size_t fleet_courses(const struct fleet *fleet, const struct fleet_subject *subject,
		     struct course **out);
void courses_release(struct course *courses, size_t count);
/* Converts a level to the unit of the series. */
double course_value(const struct history_series *series, double level);
/*
 * "3.90 % (±0.21) worse than the median of 19 other nodes, in the last 7 nights"; the caller frees
 * the string.
 */
char *course_words(const struct fleet *fleet, const struct fleet_subject *subject,
		   const struct course *course);

#endif
