#include "measure/run.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/stats.h"
#include "measure/telemetry/telemetry_window.h"
#include "measure/telemetry/watch.h"
#include "plan/metrics.h"
#include "plan/suite.h"
#include "result/statistics.h"

/* Power and SM clock of a case's devices over time, stored in its result. */
/* Points during the work whose energy is measured; the same number while the devices rest. */
#define POWER_POINTS 10

struct power_watch {
	struct run *run;
	double interval;                   /* seconds per point */
	struct watch_recorder **recorders; /* one per run->devices; NULL: not started */
	double began;
};

/* NVML reports power as a mean over 0.1 s. */
#define POWER_READING_SECONDS 0.05

/* `context`: a struct power_watch with run and interval set; a second call does nothing. */
static void measure_run_power_watch_begin(void *context)
{
	struct power_watch *p = context;
	struct run *run = p->run;

	if (p->recorders)
		return;
	p->began = clock_seconds();
	p->recorders = xcalloc(run->device_count + 1, sizeof(struct watch_recorder *));
	for (size_t i = 0; i < run->device_count; i++)
		p->recorders[i] = telemetry_watch_begin(run->devices[i],
							fmin(POWER_READING_SECONDS, p->interval),
							p->interval);
}

/*
 * With `keep` the curves replace those of the result, and the call is collective. Does nothing if
 * none was started.
 */
static void measure_run_power_watch_end(const struct power_watch *p, bool keep)
{
	struct case_result *result = p->run->result;
	struct world *world = p->run->world;
	size_t kept;

	if (!p->recorders)
		return;
	if (keep) {
		/* Keeps the power of the latest workload, whose energy is the case's metric. */
		for (size_t i = 0; i < result->watch_count; i++)
			watch_release(&result->watches[i]);
		result->watch_count = 0;
	}
	for (size_t i = 0; i < p->run->device_count; i++) {
		struct watch watch;

		telemetry_watch_end(p->recorders[i], &watch);
		telemetry_watch_release_other_than_power(&watch);
		watch.offset = p->run->phases ? p->began - p->run->phases->began : 0;
		if (!keep) {
			watch_release(&watch);
		} else if (world && world->size > 1) {
			telemetry_watch_gather(world, &watch, result);
		} else {
			ARRAY_GROW(result->watches, result->watch_count, result->watch_capacity);
			result->watches[result->watch_count++] = watch;
		}
	}
	kept = 0;
	for (size_t i = 0; keep && i < result->watch_count; i++) {
		if (telemetry_watch_has_power(&result->watches[i]))
			result->watches[kept++] = result->watches[i];
		else
			watch_release(&result->watches[i]);
	}
	result->watch_count = keep ? kept : result->watch_count;
	free(p->recorders);
}

static void run_end_watch(struct run *run, struct series *const *series, size_t count)
{
	size_t readings, throttled;

	telemetry_window_end(run->telemetry, &readings, &throttled);
	/*
	 * A sustained load is measured at its limit, so throttling is expected; so is a burst that
	 * ends at the limit.
	 */
	if (throttled == 0 || run->sampler.rules->may_drift)
		return;
	/* The samples are kept, because acceptance reports throttling as a finding. */
	for (size_t i = 0; i < count; i++) {
		struct statistics *s = &series[i]->statistics;
		size_t used = strlen(s->noise);

		s->noisy = true;
		snprintf(s->noise + used, sizeof(s->noise) - used,
			 "%sthrottled in %zu of %zu readings", used ? ", " : "", throttled,
			 readings);
	}
}

/* Measures the second half of a rest, because power falls for a while after work. */
static void measure_run_idle(struct run *run)
{
	double half = run->sampler.rules->energy_seconds / 2;
	struct energy_meter *meter;

	clock_sleep(half);
	meter = energy_meter_begin(run->devices, run->device_count);
	clock_sleep(half);
	energy_meter_read(meter);
	energy_meter_end(meter, run->world, &run->energy.idle);
}

/* A sustained load: records its power and clock from preheat on. */
static void run_watch_load(struct power_watch *power)
{
	const struct sampling *rules = power->run->sampler.rules;

	power->interval = (rules->preheat_seconds + rules->least_seconds) / (2 * POWER_POINTS);
	measure_run_power_watch_begin(power);
}

enum status run_sample(struct run *run, const struct workload *workload, const char *name,
		       const struct series **out, struct error *err)
{
	const struct sampling *rules = run->sampler.rules;
	bool with_energy = workload->has_energy && rules->energy_seconds > 0;
	struct series *series = case_result_add_times(run->result, name);
	const char *around = phases_enter(run->phases, "samples");
	struct power_watch power = { .run = run, .interval = rules->energy_seconds / POWER_POINTS };
	struct device *device = run->sampler.device;
	enum status status;

	*out = series;
	if (workload->stream_count)
		run->sampler.device = workload->streams[0]->device;
	if (rules->least_seconds > 0 && !workload->unwatched)
		run_watch_load(&power);
	if (with_energy) {
		run->sampler.energy_begins = measure_run_power_watch_begin;
		run->sampler.energy_context = &power;
		run->sampler.energy = &run->energy;
		run->sampler.energy_devices = run->devices;
		run->sampler.energy_device_count = run->device_count;
	}
	telemetry_window_begin(run->telemetry);
	status = sample(&run->sampler, workload, series, err);
	run_end_watch(run, &series, 1);
	run->sampler.device = device;
	run->sampler.energy = NULL;
	run->sampler.energy_begins = NULL;
	if (with_energy && status == STATUS_OK)
		measure_run_idle(run);
	measure_run_power_watch_end(&power, status == STATUS_OK);
	phases_enter(run->phases, around);
	return status;
}

enum status run_sample_reports(struct run *run, const struct reporter *reporter, const char *name,
			       const char *unit, const struct series **out, struct error *err)
{
	struct series *series = case_result_add_times(run->result, name);
	const char *around = phases_enter(run->phases, "samples");
	enum status status;

	*out = series;
	snprintf(series->unit, sizeof(series->unit), "%s", unit);
	telemetry_window_begin(run->telemetry);
	status = sample_reports(&run->sampler, reporter, series, err);
	run_end_watch(run, &series, 1);
	phases_enter(run->phases, around);
	return status;
}

enum status run_sample_together(struct run *const *runs, const struct workload *workloads,
				enum pace pace, const char *name, size_t count,
				const struct series **out, struct error *errs)
{
	struct sampler *samplers = xcalloc(count, sizeof(*samplers));
	struct series **series = xcalloc(count, sizeof(struct series *));
	struct power_watch *power = xcalloc(count, sizeof(*power));
	enum status status;

	for (size_t i = 0; i < count; i++) {
		power[i].run = runs[i];
		if (runs[i]->sampler.rules->least_seconds > 0)
			run_watch_load(&power[i]);
		samplers[i] = runs[i]->sampler;
		samplers[i].device = workloads[i].streams[0]->device;
		out[i] = series[i] = case_result_add_times(runs[i]->result, name);
		phases_enter(runs[i]->phases, "samples");
		telemetry_window_begin(runs[i]->telemetry);
	}
	status = sample_together(samplers, workloads, pace, series, count, errs);
	for (size_t i = 0; i < count; i++) {
		run_end_watch(runs[i], &series[i], 1);
		measure_run_power_watch_end(&power[i], status == STATUS_OK);
	}
	free(power);
	free(samplers);
	free(series);
	return status;
}

enum status run_sample_interleaved(struct run *run, const struct workload workloads[2],
				   const char *const names[3], const struct series *out[3],
				   struct error *err)
{
	size_t first = run->result->series_count;
	const char *around = phases_enter(run->phases, "samples");
	struct series *series[3];
	enum status status;

	for (size_t i = 0; i < 3; i++)
		case_result_add_times(run->result, names[i]);
	for (size_t i = 0; i < 3; i++)
		out[i] = series[i] = &run->result->series[first + i];
	strcpy(series[2]->unit, "1");
	telemetry_window_begin(run->telemetry);
	status = sample_interleaved(&run->sampler, workloads, series, err);
	run_end_watch(run, series, 2);
	phases_enter(run->phases, around);
	return status;
}

/* A value with its 95 % interval; NaN: none. */
struct level {
	double value, low, high;
};

/* `series`: name of the series that it comes from; "": none. */
static struct metric_value *run_add_metric(struct run *run, const char *name, struct level level,
					   size_t n, const char *series)
{
	const struct metric *metric = run->c->suite->metrics;
	struct case_result *result = run->result;
	struct metric_value *value;

	while (metric->name && strcmp(metric->name, name) != 0)
		metric++;
	if (!metric->name) {
		fprintf(stderr, "gpuproof: bug: suite %s has no metric %s\n", run->c->suite->name,
			name);
		abort();
	}
	ARRAY_GROW(result->metrics, result->metric_count, result->metric_capacity);
	value = &result->metrics[result->metric_count++];
	*value = (struct metric_value){
		.name = xstrdup(metric->name),
		.unit = xstrdup(metric->unit),
		.better = metric->better,
		.headline = metric->headline,
		.value = level.value,
		.low = level.low,
		.high = level.high,
		.n = n,
		.series = xstrdup(series),
	};
	if (!schema_metric_find(name))
		value->kind = metric_kind_of(metric, result);
	return value;
}

/* Median of the samples, or mean of a load, with its interval. */
static struct level run_level_of(const struct series *series)
{
	const struct statistics *s = &series->statistics;
	struct level level = { s->median, s->low, s->high };

	if (series->load)
		level.value = stats_median_load_mean(series->samples, series->count, &level.low,
						     &level.high);
	return level;
}

void run_scaled(struct run *run, const char *name, double factor, const struct series *series)
{
	struct level l = run_level_of(series);

	l = (struct level){ factor * l.value, factor * l.low, factor * l.high };
	run_add_metric(run, name, l, series->count, series->name);
}

void run_duration(struct run *run, const char *name, const struct series *series)
{
	run_scaled(run, name, 1, series);
}

void run_rate(struct run *run, const char *name, double amount, const struct series *series)
{
	const struct level l = run_level_of(series);
	struct level rate = { NAN, NAN, NAN };

	/* If nothing was timed, the rate is unknown, not infinite. */
	if (l.value > 0)
		rate = (struct level){ amount / l.value, amount / l.high,
				       l.low > 0 ? amount / l.low : NAN };
	run_add_metric(run, name, rate, series->count, series->name)->amount = amount;
}

void run_quotient(struct run *run, const char *name, double factor, const struct series *series,
		  const struct series *divisor)
{
	const struct level a = run_level_of(series), b = run_level_of(divisor);
	double quotient = b.value > 0 ? factor * a.value / b.value : NAN;
	/* Distances of the medians from the ends of their intervals, on a log scale. */
	double below_a = a.low > 0 ? log(a.value / a.low) : NAN,
	       below_b = b.low > 0 ? log(b.value / b.low) : NAN,
	       below = root_sum_square(below_a, log(b.high / b.value)),
	       above = root_sum_square(log(a.high / a.value), below_b);

	run_add_metric(run, name,
		       (struct level){ quotient, quotient * exp(-below), quotient * exp(above) },
		       divisor->count, divisor->name);
}

void run_value(struct run *run, const char *name, double reading)
{
	run_interval(run, name, reading, NAN, NAN, 1);
}

void run_interval(struct run *run, const char *name, double reading, double low, double high,
		  size_t samples)
{
	run_add_metric(run, name, (struct level){ reading, low, high }, samples, "");
}

void run_demote_metric(struct run *run, const char *name)
{
	for (size_t i = 0; i < run->result->metric_count; i++)
		if (strcmp(run->result->metrics[i].name, name) == 0)
			run->result->metrics[i].headline = false;
}

void run_statistic(struct run *run, const char *name, double statistic, const struct series *series)
{
	if (!isnan(statistic))
		run_add_metric(run, name, (struct level){ statistic, NAN, NAN }, series->count,
			       series->name);
}

void run_sum(struct run *run, const char *name, const char *const *parts, size_t count)
{
	struct level sum = { 0 };
	size_t n = SIZE_MAX;

	for (size_t i = 0; i < count; i++) {
		const struct metric_value *part = case_metric(run->result, parts[i]);

		sum.value += part->value;
		sum.low += part->low;
		sum.high += part->high;
		n = part->n < n ? part->n : n;
	}
	run_add_metric(run, name, sum, n, "");
}

/*
 * Records a metric of the suite with the uncertainty of the counter on both sides; nothing if
 * unknown.
 */
static void run_add_energy_metric(struct run *run, const char *metric, double reading, double error)
{
	char *name = xasprintf("%s.%s", run->c->suite->name, metric);

	if (isfinite(reading) && isfinite(error))
		run_interval(run, name, reading, reading * (1 - error), reading * (1 + error), 1);
	free(name);
}

/* Values with a larger error say nothing about a device. */
#define ENERGY_ERROR_MOST 0.1
/* Below this share the energy comes as much from waiting as from the work. */
#define ENERGY_BUSY_LEAST 0.9

/* Writes why the energy is unreliable; "": it is reliable. */
static void run_doubt_energy(const struct work_energy *e, char *out, size_t size)
{
	const struct energy_window *w = &e->window;

	*out = '\0';
	if (!(w->joules > 0))
		snprintf(out, size, "%s", *w->why ? w->why : "no energy reading");
	else if (w->error > ENERGY_ERROR_MOST)
		snprintf(out, size,
			 "the energy over %.3g s from %s has an uncertainty of %.0f %%, more than "
			 "%.0f %%; increase energy_time",
			 w->seconds, w->source, 100 * w->error, 100 * ENERGY_ERROR_MOST);
	else if (e->busy_seconds < ENERGY_BUSY_LEAST * w->seconds)
		snprintf(out, size,
			 "the devices worked only %.0f %% of the %.3g s of the measurement",
			 100 * e->busy_seconds / w->seconds, w->seconds);
}

static void run_record_window(struct run *run, const char *name, const struct energy_window *w)
{
	struct case_result *r = run->result;

	if (!isfinite(w->error))
		return;
	ARRAY_GROW(r->energy, r->energy_count, r->energy_capacity);
	r->energy[r->energy_count++] = (struct energy_record){ .name = xstrdup(name),
							       .began = w->began,
							       .ended = w->began + w->seconds,
							       .first_update = w->first_update,
							       .last_update = w->last_update,
							       .joules = w->joules,
							       .low = w->joules * (1 - w->error),
							       .high = w->joules * (1 + w->error) };
}

void run_energy_of(struct run *run, const struct work_energy *e, const char *efficiency,
		   double amount)
{
	const struct energy_window *w = &e->window;
	double each = w->joules / e->operations;
	char doubt[384];

	run_doubt_energy(e, doubt, sizeof(doubt));
	if (isfinite(e->idle.watts) && e->idle.seconds > 0 && e->idle.error <= ENERGY_ERROR_MOST) {
		run_add_energy_metric(run, "idle_power", e->idle.watts, e->idle.error);
		run_record_window(run, "rest", &e->idle);
	}
	if (*doubt) {
		run_note(run, "No energy was recorded: %s.", doubt);
		return;
	}
	run_record_window(run, "work", w);
	run_add_energy_metric(run, "energy", each, w->error);
	run_add_energy_metric(run, efficiency, amount / each, w->error);
	run_add_energy_metric(run, "power", w->watts, w->error);
	run_note(run,
		 "Energy from %s over %.3g s; uncertainty from the update "
		 "interval ± %.2g %%.",
		 w->source, w->seconds, 100 * w->error);
}

void run_energy(struct run *run, const char *efficiency, double amount)
{
	if (run->sampler.rules->energy_seconds > 0)
		run_energy_of(run, &run->energy, efficiency, amount);
}

void run_verified(struct run *run, const char *method, double error, double tolerance)
{
	struct verification *v = &run->result->verification;

	free(v->method);
	*v = (struct verification){
		.done = true, .method = xstrdup(method), .error = error, .tolerance = tolerance
	};
}

void run_note(struct run *run, const char *format, ...)
{
	char *note = NULL;
	va_list ap;

	va_start(ap, format);
	if (vasprintf(&note, format, ap) < 0)
		note = xstrdup("");
	va_end(ap);
	case_result_note(run->result, note);
	free(note);
}

#define MOST_PATHS 64 /* code paths of a case */

/* Devices of one module share its record. */
static bool measure_run_first_of_module(const struct run *run, size_t which)
{
	for (size_t i = 0; i < which; i++)
		if (run->devices[i]->backend == run->devices[which]->backend)
			return false;
	return run->devices[which]->backend->paths != NULL;
}

void run_forget_paths(const struct run *run)
{
	struct code_path old[MOST_PATHS];

	for (size_t i = 0; i < run->device_count; i++)
		if (measure_run_first_of_module(run, i))
			run->devices[i]->backend->paths(old, MOST_PATHS);
}

void run_add_path(struct case_result *result, char *path)
{
	for (size_t i = 0; i < result->path_count; i++)
		if (strcmp(result->paths[i], path) == 0) {
			free(path);
			return;
		}
	result->paths = xrealloc(result->paths, result->path_count + 1, sizeof(*result->paths));
	result->paths[result->path_count++] = path;
}

/* Kernels with one code path need no note. */
void run_record_paths(const struct run *run)
{
	struct code_path paths[MOST_PATHS];

	for (size_t i = 0; i < run->device_count; i++) {
		const struct backend *backend = run->devices[i]->backend;
		size_t count =
			measure_run_first_of_module(run, i) ? backend->paths(paths, MOST_PATHS) : 0;

		for (size_t k = 0; k < count; k++)
			if (paths[k].path[0])
				run_add_path(run->result,
					     xasprintf("%s: %s", paths[k].kernel, paths[k].path));
	}
}
