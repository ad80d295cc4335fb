#include "suites/shared/sustained.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "plan/config.h"
#include "plan/suite.h"

/* Longer bursts meet the power limit. */
#define BURST_SECONDS 0.02
/* Shorter calls take longer to enqueue than to execute: they are enqueued before they start. */
#define CALL_SECONDS 20e-6
/* Share of a load's time that precedes its measurement, while the clock falls. */
#define LEAD_IN 0.25
/* Samples of a sustained load; the driver's queue has room for a sample's commands. */
#define LOAD_SAMPLES 40
#define LOAD_COMMANDS 512
#define UNLIMITED_SAMPLES 1000000

double sustained_load_seconds(const struct run *run)
{
	return device_is_host(&run->devices[0]->info)
		       ? 0
		       : section_real(run->c->section, "sustained_time");
}

double sustained_seconds(const struct section *section, const struct device_info *info)
{
	return device_is_host(info) ? 0 : (1 + LEAD_IN) * section_real(section, "sustained_time");
}

struct sampling sustained_burst_rules(const struct sampling *rules)
{
	struct sampling burst = *rules;

	burst.preheat_seconds = 0;
	burst.may_drift = true;
	burst.max_seconds = fmin(rules->max_seconds, BURST_SECONDS);
	return burst;
}

struct sampling sustained_load_rules(const struct sampling *rules, double seconds)
{
	struct sampling load = *rules;

	load.preheat_seconds = fmax(rules->preheat_seconds, LEAD_IN * seconds);
	load.least_seconds = load.max_seconds = seconds;
	load.may_drift = true;
	load.sample_seconds = fmax(rules->sample_seconds, seconds / LOAD_SAMPLES);
	load.min_samples =
		rules->min_samples < LOAD_SAMPLES / 2 ? rules->min_samples : LOAD_SAMPLES / 2;
	load.max_samples = UNLIMITED_SAMPLES;
	return load;
}

struct workload sustained_load_workload(const struct workload *burst, bool gapless)
{
	struct workload w = *burst;
	unsigned most = LOAD_COMMANDS / (w.commands ? w.commands : 1);

	most = most ? most : 1;
	w.no_gate = w.no_gate || gapless;
	w.max_batch = w.max_batch && w.max_batch < most ? w.max_batch : most;
	return w;
}

static const struct series *sustained_series_of(const struct sustained_work *work, const char *part)
{
	char *name = xasprintf("%s.%s", work->run->c->suite->name, part);
	const struct series *found = case_series(work->run->result, name);

	free(name);
	return found;
}

bool sustained_is_gapless(const struct series *burst, unsigned commands)
{
	return burst->statistics.median >= CALL_SECONDS * (commands ? commands : 1);
}

/* One way of sampling all of `work`. */
struct sampling_pass {
	const char *part;
	bool lasts, has_energy;
};

static void sustained_prepare_pass(const struct sustained_work *work,
				   const struct sampling_pass *pass, struct sampling *rules,
				   struct workload *w)
{
	struct run *run = work->run;
	double seconds = sustained_load_seconds(run);

	*w = work->workload;
	if (pass->lasts) {
		*rules = sustained_load_rules(run->sampler.rules, seconds);
		*w = sustained_load_workload(w,
					     sustained_is_gapless(sustained_series_of(work, "time"),
								  1));
	} else
		*rules = seconds > 0 ? sustained_burst_rules(run->sampler.rules)
				     : *run->sampler.rules;
	w->has_energy = work->workload.has_energy && pass->has_energy;
}

static enum status sustained_sample_alone(const struct sustained_work *work,
					  const struct sampling_pass *pass, struct error *err)
{
	struct run *run = work->run;
	const struct sampling *asked = run->sampler.rules;
	char *name = xasprintf("%s.%s", run->c->suite->name, pass->part);
	const struct series *series;
	struct sampling rules;
	struct workload w;

	sustained_prepare_pass(work, pass, &rules, &w);
	run->sampler.rules = &rules;
	run_sample(run, &w, name, &series, err);
	run->sampler.rules = asked;
	free(name);
	return err->status;
}

enum status sustained_sample(const struct sustained_work *work, struct error *err)
{
	bool asked = sustained_load_seconds(work->run) > 0;
	const struct sampling_pass burst = { "time", false, !asked };
	const struct sampling_pass load = { "sustained", true, true };

	if (sustained_sample_alone(work, &burst, err) != STATUS_OK || !asked)
		return err->status;
	return sustained_sample_alone(work, &load, err);
}

static enum status sustained_sample_all(const struct sustained_work *work, size_t count,
					const struct sampling_pass *pass, struct error *errs)
{
	char *name = xasprintf("%s.%s", work->run->c->suite->name, pass->part);
	const struct sampling **asked = xcalloc(count, sizeof(const struct sampling *));
	const struct series **series = xcalloc(count, sizeof(const struct series *));
	struct sampling *rules = xcalloc(count, sizeof(*rules));
	struct workload *workloads = xcalloc(count, sizeof(*workloads));
	struct run **runs = xcalloc(count, sizeof(struct run *));
	enum status status;

	for (size_t i = 0; i < count; i++) {
		runs[i] = work[i].run;
		asked[i] = runs[i]->sampler.rules;
		sustained_prepare_pass(&work[i], pass, &rules[i], &workloads[i]);
		runs[i]->sampler.rules = &rules[i];
	}
	status = run_sample_together(runs, workloads, PACE_FREE_RUNNING, name, count, series, errs);
	for (size_t i = 0; i < count; i++)
		runs[i]->sampler.rules = asked[i];
	free(runs);
	free(workloads);
	free(rules);
	free(series);
	free(asked);
	free(name);
	return status;
}

enum status sustained_sample_together(const struct sustained_work *work, size_t count,
				      struct error *errs)
{
	const struct sampling_pass burst = { "time", false, false };
	const struct sampling_pass load = { "sustained", true, false };
	enum status status = sustained_sample_all(work, count, &burst, errs);
	bool all = status == STATUS_OK;

	for (size_t i = 0; i < count && all; i++)
		all = sustained_load_seconds(work[i].run) > 0;
	return all ? sustained_sample_all(work, count, &load, errs) : status;
}

const struct series *sustained_series(const struct sustained_work *work)
{
	const struct series *load = sustained_series_of(work, "sustained");

	return load ? load : sustained_series_of(work, "time");
}

static void sustained_record_rate(const struct sustained_work *work, const char *metric,
				  const struct series *series)
{
	char *name = xasprintf("%s.%s", work->run->c->suite->name, metric);

	run_rate(work->run, name, work->operations, series);
	free(name);
}

void sustained_record(const struct sustained_work *work)
{
	struct run *run = work->run;
	const struct series *burst = sustained_series_of(work, "time"),
			    *load = sustained_series_of(work, "sustained");
	char *time = xasprintf("%s.time", run->c->suite->name),
	     *share = xasprintf("%s.sustained_share", run->c->suite->name);
	bool on_host = device_is_host(&run->devices[0]->info);

	sustained_record_rate(work, "throughput", sustained_series(work));
	run_duration(run, time, sustained_series(work));
	if (!on_host && (load || !(run->sampler.rules->preheat_seconds > 0))) {
		sustained_record_rate(work, "burst", burst);
		if (load)
			run_quotient(run, share, 1, burst, load);
		/* Notes a missing load, or one with short calls. */
		if (!load)
			run_note(run, "The throughput is that of a burst. Under a sustained load, "
				      "the power limit can reduce it: set sustained_time.");
		else if (!sustained_is_gapless(burst, 1))
			run_note(run,
				 "Calls are shorter than %.0f us: the device idles while the host "
				 "queues them.",
				 1e6 * CALL_SECONDS);
	}
	free(time);
	free(share);
}
