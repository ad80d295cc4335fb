/*
 * Runs a plan: probe, workers, journal, result. The conductor never loads a GPU library.
 *
 * Cases that need one process share one worker, whatever their suite. Cases with a process per
 * device share the ranks of all cases on the same devices; a case on fewer devices uses the first
 * of these ranks while the others wait. Teams start in the order in which the plan first needs
 * them, and a team's cases keep plan order. A worker sends JSON lines through a pipe: {"start":
 * index}, {"progress": ...}, {"case": {...}}. Each finished case is appended to DIR/run.jsonl and
 * fsync'ed before it counts. If a worker dies, or is killed because it exceeded the case's limit,
 * the case in flight becomes an ERROR with the reason, and a new worker continues after it.
 */
#ifndef GPUPROOF_RUN_CONDUCTOR_H
#define GPUPROOF_RUN_CONDUCTOR_H

#include <stdbool.h>

#include "plan/config.h"
#include "plan/plan.h"
#include "result/result.h"
#include "result/status/run_status.h"

/* Callbacks during the run; members may be NULL. */
struct conduct_events {
	void *context;
	/*
	 * the journal is open; `header` is the result without cases, valid until conduct() returns
	 */
	void (*began)(void *context, const struct result *header);
	/* the case is in the journal; cases kept by --resume come first */
	void (*settled)(void *context, const struct case_result *c);
};

struct conduct_options {
	const char *directory; /* created if missing; receives run.jsonl and result.json */
	bool resume;           /* continue the run in `directory` and keep its finished cases */
	bool quiet;
	const char *command; /* command that repeats the run, for the result */
	/* time limit for a worker to open its devices; 0: enough for eight GPUs */
	double start_seconds;
	/*
	 * DIR/status.json of the whole run, and its directory; NULL: none. The conductor fills
	 * everything except what only its caller knows: launches, and the steps after the run.
	 */
	struct run_status *status;
	const char *status_directory;
	struct conduct_events events;
	/* A case starts, or is settled; may be NULL. Skipped cases are only settled. */
	void (*watch)(void *context, const char *id, bool settled);
	void *watch_context;
	int *stopped_by; /* out, may be NULL: signal that stopped the run; 0: none */
};

/* Devices and environment, collected by a short-lived probe process. */
struct probe {
	struct device_info *devices;
	size_t device_count;
	struct fact *facts;
	size_t fact_count;
	struct component *components;
	size_t component_count;
	/* from the backends, plus SEVERITY_NOTE "backend cuda13" for each unavailable backend */
	struct finding *findings;
	size_t finding_count;
};
/*
 * Lists the devices in a separate process, because a driver may crash or hang: STATUS_DEVICE,
 * STATUS_TIMEOUT. `config` NULL: every backend, as by the defaults of [run].
 */
enum status probe_devices(struct probe *probe, const struct config *config, struct error *err);
void probe_release(struct probe *probe);

/*
 * Runs `plan` and fills `result` (also written to DIR/result.json). Returns STATUS_OK if every case
 * was attempted, STATUS_INTERRUPTED after Ctrl-C or SIGTERM (the result is kept), another status if
 * the run itself could not continue.
 */
enum status conduct(const struct plan *plan, const struct probe *probe,
		    const struct conduct_options *options, struct result *result,
		    struct error *err);

#endif
