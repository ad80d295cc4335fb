/*
 * Fleet comparison: compares each device, node and slot in a history of many nodes with all others
 * that measured the same in the same nights. It finds a node that is slow as a whole, or slow since
 * its first night, which comparison within a node or with the device's own past cannot.
 *
 * A cohort is a case without its device x metric x device model x epoch (hardware, driver, config).
 * A member's level is the median of its last nights (FLEET_NIGHTS by default); all levels are
 * logarithms, oriented so that more is better. Members vary around the centre of their group
 * (stats/kinds.h: healthy GPUs of one model may form two groups). If groups coincide with hosts
 * they are not groups of chips, and a small one counts as slow nodes.
 *
 * A subject is a suspect if it is worse than the centre of the lowest group by FLEET_MAGNITUDE and
 * by t robust standard deviations (1.4826 MAD) of its peers. Devices are compared with devices, a
 * node's median with nodes' medians, and a slot's median offset from its nodes' medians with zero.
 * t is Student's at FLEET_FALSE / tests, one-sided, over all tests of the fleet (Bonferroni); a MAD
 * of n values has 0.37 n degrees of freedom. In simulations (tests/unit/history/test_fleet.c) at
 * most 1 % of 1,000 healthy fleets have a suspect.
 */
#ifndef GPUPROOF_HISTORY_FLEET_FLEET_H
#define GPUPROOF_HISTORY_FLEET_FLEET_H

#include "history/history.h"
#include "history/triage.h"
#include "stats/kinds.h"

#define FLEET_NIGHTS 7       /* nights that a level is computed from */
#define FLEET_FEWEST 8       /* members; smaller cohorts are not compared */
#define FLEET_FEWEST_HOSTS 4 /* hosts; with fewer, nodes are not compared */
#define FLEET_FALSE 0.005    /* probability that a healthy fleet has a suspect */
#define FLEET_MAGNITUDE 0.01 /* smaller deficits are ignored */
#define FLEET_SILENT 2       /* nights without data of a host or device before it is reported */

/* Value of one night: index into the fleet's nights, logarithm. */
struct fleet_night {
	uint32_t night;
	float level;
};

/* A series in its last epoch on its last host. */
struct fleet_member {
	const struct history_series *series;
	char *devices; /* devices of its case on the host: "cuda:3" */
	int64_t epoch;
	/* indices; device is SIZE_MAX for a case with several devices */
	size_t host, device;
	struct fleet_night *nights; /* by time */
	size_t count, recent;       /* number of nights; of these, nights of the level */
	/* deviation: of a night, robust; NaN: fewer than three nights */
	double level, deviation;
	/* distance to the centre of the lowest group; above 0 is worse */
	double deficit;
	double residual; /* distance to the centre of its own group */
	double allowed;  /* allowed deficit; NaN: not compared */
	bool slow;
	/* on a host that its device has left: counts for those nights, not for a level */
	bool moved;
};

struct fleet_cohort {
	size_t first, count; /* members */
	size_t hosts;
	struct kinds kinds;
	bool kinds_of_hosts; /* each host's members are in one group: the groups describe hosts */
	double deviation;    /* robust deviation of the members */
	double night_deviation;
	bool compared; /* enough members */
};

struct fleet_host {
	char *name, *tags; /* name: the node in a multi-node run; tags: of its last night */
	int64_t last_day;
	size_t silent;  /* days of the fleet since its last night */
	size_t devices; /* devices that were compared or could be */
};

/* A device: its UUID, or host and device if it has none. */
struct fleet_device {
	const char *machine, *id; /* id: "cuda:3" */
	size_t host;
	bool compared;
};

enum fleet_kind { FLEET_HOST, FLEET_DEVICE, FLEET_SLOT };

struct fleet_finding {
	enum fleet_kind kind;
	size_t host;                   /* unset for a slot */
	size_t member;                 /* worst member, or one of the worst cohort */
	const char *slot;              /* "cuda:5" */
	size_t cohort;                 /* cohort with the largest deficit */
	size_t cohorts;                /* number of cohorts in which it is slow */
	double deficit, half, allowed; /* logarithms; half: half-width of the 95 % interval */
	int64_t since; /* day of the change; of the first night if there was no change */
	bool always;   /* slow since its first night */
	bool dated;    /* enough nights to date it */
	const struct history_note *decision; /* NULL: open */
};

struct fleet_gone {
	const struct history_place *place;
	size_t silent; /* nights of its host since then */
};

struct fleet {
	struct history_nights nights;
	struct history_places places;
	struct history_notes notes;
	struct history_series *series; /* sorted by id, without points */
	size_t series_count, series_capacity;
	struct fleet_member *members; /* by cohort */
	size_t member_count, member_capacity;
	struct fleet_cohort *cohorts;
	size_t cohort_count;
	struct fleet_host *hosts; /* by name */
	size_t host_count, host_capacity;
	struct fleet_device *devices;
	size_t device_count;
	struct fleet_finding *findings; /* open ones first, then by kind and deficit */
	size_t finding_count, finding_capacity;
	struct fleet_gone *gone;
	size_t gone_count, gone_capacity;
	int64_t first_day, last_day; /* range of the nights that form the levels */
	size_t tests;
	/* findings without a decision; compared devices; devices in cohorts that are too small */
	size_t open, compared, too_few;
	size_t silent_hosts;
};

/*
 * Reads and judges a fleet. Of `filter`, the metric, the case, the tag and the nights per level (0:
 * FLEET_NIGHTS) are used. Call fleet_collect_release() even after an error.
 */
enum status fleet_collect_read(struct fleet *fleet, struct store *history,
			       const struct history_filter *filter, struct error *err);
void fleet_collect_release(struct fleet *fleet);

/* Steps of fleet_collect_read() after the members were collected; call each once, in this order. */
void fleet_collect_group(
	struct fleet *fleet); /* sorts members by cohort; finds cohorts and devices */
void fleet_collect_levels(
	struct fleet *fleet);             /* computes levels from the nights since first_day */
void cohort_judge(struct fleet *fleet);   /* finds suspects and creates findings */
void fleet_findings(struct fleet *fleet); /* dates the findings and applies decisions */

/* Deficit as a ratio minus 1: 0.04 is 4 % worse. */
double fleet_findings_percent(double deficit);
#define FLEET_WORST 20
/* Stores each device's worst member, suspect or not, worst first; returns their number. */
size_t fleet_findings_worst(const struct fleet *fleet, size_t members[FLEET_WORST]);

/*
 * "stream/triad ...: nodes form two groups, 4.0 % apart: ..."; NULL if the groups are of chips. The
 * caller frees the string.
 */
char *fleet_findings_kinds_words(const struct fleet *fleet, const struct fleet_cohort *cohort);
/* "node7 cuda:3, 0000:19:00.0, serial 16 (GPU-5f..)"; the caller frees the string. */
char *fleet_findings_member_words(const struct fleet *fleet, const struct fleet_member *member);
/*
 * As fleet_findings_member_words(), or "node7, the node (8 devices)", "slot cuda:5 of most nodes".
 */
char *fleet_findings_subject_words(const struct fleet *fleet, const struct fleet_finding *finding);
/* "4.0 % (±0.2) worse than the others in stream/triad ... (allowed 1.9 %); since 2026-11-18" */
char *fleet_finding_words(const struct fleet *fleet, const struct fleet_finding *finding);

/*
 * Courses: nightly deviation of a node or device from the median of its cohorts. Effects common to
 * the cohort, such as room temperature or a driver update, cancel.
 */

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
char *fleet_findings_subject_name(const struct fleet *fleet, const struct fleet_subject *subject);
bool fleet_finding_is_about(const struct fleet *fleet, const struct fleet_finding *finding,
			    const struct fleet_subject *subject);
/*
 * Lists the cohorts of the subject, worst first; returns their number. The caller calls
 * fleet_findings_courses_release() once.
 */
size_t fleet_findings_courses(const struct fleet *fleet, const struct fleet_subject *subject,
			      struct course **out);
void fleet_findings_courses_release(struct course *courses, size_t count);
/* Converts a level to the unit of the series. */
double fleet_findings_course_value(const struct history_series *series, double level);
/*
 * "3.90 % (±0.21) worse than the median of 19 other nodes, in the last 7 days"; the caller frees
 * the string.
 */
char *fleet_findings_course_words(const struct fleet *fleet, const struct fleet_subject *subject,
				  const struct course *course);

#endif
