/*
 * Node against node: what a history of many nodes says about each device, each node and each slot,
 * compared with all others that measured the same in the same nights. It finds what comparisons
 * within a node and with a device's own past cannot: a node that is slow as a whole, or slow since
 * its first night.
 *
 * A cohort is a case without its device x metric x device model x epoch (hardware, driver, config).
 * A member's level is the median of its last nights (FLEET_NIGHTS by default); all are logarithms,
 * turned so that more is better. Members scatter around the centre of their kind
 * (stats/kinds.h: good chips of one model may come in two kinds); kinds that
 * follow hosts are no kinds of chips, and a small one of them counts as slow nodes.
 *
 * The rule. Accused is what is worse than the centre of the lowest kind by FLEET_MAGNITUDE and by
 * t robust standard deviations (1.4826 MAD) of its like: devices among devices, a node's median
 * among nodes' medians, a slot's median offset from its nodes' medians against none. t is Student's
 * at FLEET_FALSE / tests, one-sided, over all tests of the fleet (Bonferroni); a MAD of n values
 * knows a deviation as well as 0.37 n values do, which are its degrees of freedom. Simulated
 * (tests/unit/history/test_fleet.c): of 1,000 healthy fleets at most 1 % accuse anything.
 */
#ifndef GPUPROOF_HISTORY_FLEET_FLEET_H
#define GPUPROOF_HISTORY_FLEET_FLEET_H

#include "history/history.h"
#include "history/triage.h"
#include "stats/kinds.h"

#define FLEET_NIGHTS 7       /* that make a level */
#define FLEET_FEWEST 8       /* members; fewer are not compared */
#define FLEET_FEWEST_HOSTS 4 /* whose nodes are compared */
#define FLEET_FALSE 0.005    /* chance that a healthy fleet accuses anything */
#define FLEET_MAGNITUDE 0.01 /* a smaller deficit is none */
#define FLEET_SILENT 2       /* nights without a word of a host or a device that are told */

/* A value of a night: index into the fleet's nights, logarithm. */
struct fleet_night {
	uint32_t night;
	float level;
};

/* A series in its last epoch on its last host. */
struct fleet_member {
	const struct history_series *series;
	char *devices; /* of its case, on its host: "cuda:3" */
	int64_t epoch;
	size_t host, device;        /* indices; device: SIZE_MAX for a case of several devices */
	struct fleet_night *nights; /* by time */
	size_t count, recent;       /* recent: of the nights that make the level */
	double level, deviation;    /* deviation: of a night, robust; NaN: fewer than three */
	double deficit;             /* to the centre of the lowest kind; above 0 is worse */
	double residual;            /* to the centre of its own kind */
	double allowed;             /* NaN: not compared */
	bool slow;
	/* in a host that its device has left: part of what was measured then, and of no level */
	bool moved;
};

struct fleet_cohort {
	size_t first, count; /* members */
	size_t hosts;
	struct kinds kinds;
	bool kinds_of_hosts; /* each host's members are of one kind: says something about hosts */
	double deviation;    /* of members, robust */
	double night_deviation;
	bool compared; /* enough members */
};

struct fleet_host {
	char *name, *tags; /* name: of a run on several nodes the node; tags: of its last night */
	int64_t last_day;
	size_t silent;  /* days of the fleet since its last night */
	size_t devices; /* that were compared or could be */
};

/* A device: its UUID, or host and device where it has none. */
struct fleet_device {
	const char *machine, *id; /* id: "cuda:3" */
	size_t host;
	bool compared;
};

enum fleet_kind { FLEET_HOST, FLEET_DEVICE, FLEET_SLOT };

struct fleet_finding {
	enum fleet_kind kind;
	size_t host;                   /* not of a slot */
	size_t member;                 /* the worst, or one of the worst cohort */
	const char *slot;              /* "cuda:5" */
	size_t cohort;                 /* the one where it is worst */
	size_t cohorts;                /* where it is slow */
	double deficit, half, allowed; /* logarithms; half: of the 95 % interval */
	int64_t since; /* day of the change; of the first night where there is none */
	bool always;   /* slow since its first night */
	bool dated;    /* enough nights to know when */
	const struct history_note *decision; /* NULL: open */
};

struct fleet_gone {
	const struct history_place *place;
	size_t silent; /* nights of its host since */
};

struct fleet {
	struct history_nights nights;
	struct history_places places;
	struct history_notes notes;
	struct history_series *series; /* by id, without points */
	size_t series_count, series_capacity;
	struct fleet_member *members; /* by cohort */
	size_t member_count, member_capacity;
	struct fleet_cohort *cohorts;
	size_t cohort_count;
	struct fleet_host *hosts; /* by name */
	size_t host_count, host_capacity;
	struct fleet_device *devices;
	size_t device_count;
	struct fleet_finding *findings; /* open ones first, then the worst first */
	size_t finding_count, finding_capacity;
	struct fleet_gone *gone;
	size_t gone_count, gone_capacity;
	int64_t first_day, last_day; /* of the nights that make levels */
	size_t tests;
	/* findings without a decision; devices that were compared; in cohorts that are too small */
	size_t open, compared, too_few;
	size_t silent_hosts;
};

/*
 * Reads and judges. Of `filter` the metric, the case, the tag and the nights that make a level (0:
 * FLEET_NIGHTS) count. fleet_release() also after an error.
 */
enum status fleet_read(struct fleet *fleet, struct store *history,
		       const struct history_filter *filter, struct error *err);
void fleet_release(struct fleet *fleet);

/* The steps of fleet_read() after the members are there, in this order; each once. */
void fleet_group(struct fleet *fleet);    /* orders members by cohort; finds cohorts and devices */
void fleet_levels(struct fleet *fleet);   /* from the nights since first_day */
void fleet_judge(struct fleet *fleet);    /* who is slow, and the findings that follow */
void fleet_findings(struct fleet *fleet); /* since when, and what was decided */

/* How worse or better, as a ratio less 1: 0.04 is 4 % worse. */
double fleet_percent(double deficit);
#define FLEET_WORST 20
/* Each device's worst member, the worst first; returns how many. Accused or not. */
size_t fleet_worst(const struct fleet *fleet, size_t members[FLEET_WORST]);

/* "stream/triad ...: nodes are of two kinds, 4.0 % apart: ..."; NULL: chips are. malloc'ed. */
char *fleet_kinds_words(const struct fleet *fleet, const struct fleet_cohort *cohort);
/* Words, malloc'ed: "node7 cuda:3, 0000:19:00.0, serial 16 (GPU-5f..)" */
char *fleet_member_words(const struct fleet *fleet, const struct fleet_member *member);
/* The same, or "node7, the node (8 devices)", "slot cuda:5 of most nodes". */
char *fleet_subject_words(const struct fleet *fleet, const struct fleet_finding *finding);
/* "since 2026-11-18", "since its first night, 2026-11-01" */
char *fleet_since_words(const struct fleet_finding *finding);
/* "4.0 % (±0.2) worse than the others in stream/triad ... (allowed 1.9 %); since 2026-11-18" */
char *fleet_finding_words(const struct fleet *fleet, const struct fleet_finding *finding);

#endif
