/*
 * Night by night: a node or a device next to the others of its cohorts (fleet.h). What moves all of
 * them, a room that warms up or a driver, moves the median of the others as well; what is the
 * node's own is the difference.
 */
#ifndef GPUPROOF_HISTORY_FLEET_COURSE_H
#define GPUPROOF_HISTORY_FLEET_COURSE_H

#include "history/fleet/fleet.h"

/* A node, or one of its devices. */
struct fleet_subject {
	size_t host;         /* of a device: where it was last */
	const char *machine; /* NULL: the node */
};

/* Logarithms, turned so that more is better; NaN: none measured. */
struct course_night {
	int64_t day;
	double own;       /* the node: median of its devices */
	double others;    /* median of the other nodes' medians; of a device: of other devices */
	double low, high; /* a tenth of the others is below, a tenth above */
	/*
	 * Half of the 95 % interval of own - others: noise from night to night of what makes `own`
	 * (the cohort's), and the others' median by their MAD. NaN: too few nights or others.
	 */
	double half;
	size_t count; /* others */
};

/* The subject in one cohort. */
struct course {
	size_t cohort, devices; /* devices: of the subject */
	struct course_night *nights;
	size_t count;
	/* own - others of the nights that make levels: median, half of its 95 % interval */
	double away, half;
	size_t recent;
};

/*
 * "node7", a serial number, a UUID, or "node7/cuda:3". Else STATUS_USAGE, which names nodes that
 * there are.
 */
enum status fleet_find_subject(const struct fleet *fleet, const char *name,
			       struct fleet_subject *out, struct error *err);
/* "node7, 8 devices, rack:3", "node7 cuda:3, 0000:19:00.0, serial 16 (GPU-5f..)"; malloc'ed. */
char *fleet_subject_name(const struct fleet *fleet, const struct fleet_subject *subject);
bool fleet_finding_is_about(const struct fleet *fleet, const struct fleet_finding *finding,
			    const struct fleet_subject *subject);
/* Cohorts of the subject, the worst first; how many. courses_release() each list once. */
size_t fleet_courses(const struct fleet *fleet, const struct fleet_subject *subject,
		     struct course **out);
void courses_release(struct course *courses, size_t count);
/* A level in the unit of the series. */
double course_value(const struct history_series *series, double level);
/* "3.90 % (±0.21) worse than the median of 19 other nodes, in the last 7 nights"; malloc'ed. */
char *course_words(const struct fleet *fleet, const struct fleet_subject *subject,
		   const struct course *course);

#endif
