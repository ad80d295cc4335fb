/*
 * Runs a plan: probe, workers, journal, result. The conductor never loads a GPU library.
 *
 * One worker carries out all cases that need one process, of whatever suite; cases that need a
 * process per device share the ranks of all cases on the same devices, or on the first ones of
 * these, while the other ranks wait. Teams follow each other in the order in which the plan first
 * needs them, and a team's cases keep the plan's order. A worker sends JSON lines up a pipe:
 * {"start": index}, {"progress": ...}, {"case": {...}}. Each finished case is appended to
 * DIR/run.jsonl and fsync'ed before it counts. A worker that dies, or hangs past the case's limit
 * and is killed, costs the case in flight: ERROR with the reason; a new worker continues after it.
 */
#ifndef GPUPROOF_RUN_CONDUCTOR_H
#define GPUPROOF_RUN_CONDUCTOR_H

#include <stdbool.h>

#include "plan/config.h"
#include "plan/plan.h"
#include "result/result.h"
#include "result/status/run_status.h"

/* Called as the run proceeds; members may be NULL. */
struct conduct_events {
	void *context;
	/*
	 * the journal has been opened; `header` is the result without cases, until conduct() ends
	 */
	void (*began)(void *context, const struct result *header);
	/* the case is in the journal; those that --resume kept come first */
	void (*settled)(void *context, const struct case_result *c);
};

struct conduct_options {
	const char *directory; /* made when missing; run.jsonl and result.json are written there */
	bool resume;           /* continue the run in `directory`: finished cases are kept */
	/* Leaves cases of later stages to another call; RUN_STAGE_NONE: carries out all. */
	enum run_stage last_stage;
	bool goes_on; /* this process conducted earlier stages: their events were sent */
	bool quiet;
	const char *command; /* how to repeat the run, for the result */
	/* time limit for a worker to open its devices; 0: long enough for eight GPUs */
	double start_seconds;
	/*
	 * DIR/status.json of the run as a whole, and its directory; NULL: there is none. The
	 * conductor fills all of it except what only its caller knows: launches, later steps.
	 */
	struct run_status *status;
	const char *status_directory;
	struct conduct_events events;
	/* A case begins, or is settled; may be NULL. A skipped case does not begin. */
	void (*watch)(void *context, const char *id, bool settled);
	void *watch_context;
	int *stopped_by; /* out, may be NULL: the signal that stopped the run, 0: none */
};

/* Devices and environment as a short-lived probe process sees them. */
struct probe {
	struct device_info *devices;
	size_t device_count;
	struct fact *facts;
	size_t fact_count;
	struct component *components;
	size_t component_count;
	/* the backends' own, and SEVERITY_NOTE "backend cuda13" for each that is not there */
	struct finding *findings;
	size_t finding_count;
};
/*
 * In a process of its own, which may crash or hang in a driver: STATUS_DEVICE and STATUS_TIMEOUT
 * say so. `config` NULL: every backend, as the defaults of [run] have it.
 */
enum status probe_devices(struct probe *probe, const struct config *config, struct error *err);
void probe_release(struct probe *probe);

/*
 * Carries out `plan` and fills `result` (also written to DIR/result.json). Returns STATUS_OK when
 * every case was attempted, STATUS_INTERRUPTED after Ctrl-C or SIGTERM (result kept), another
 * status when the run itself could not continue.
 */
enum status conduct(const struct plan *plan, const struct probe *probe,
		    const struct conduct_options *options, struct result *result,
		    struct error *err);

#endif
