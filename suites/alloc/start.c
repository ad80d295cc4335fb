/*
 * Start-up cost of a process before its first result: the driver, the context, the first kernel,
 * the first GEMM, the first collective; each in time, device memory and host memory, in processes
 * that have not touched a device before. This process keeps the device open, so that the device
 * itself is awake.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "kernels/timing.h"
#include "measure/processes/fork_server.h"
#include "measure/steps.h"
#include "result/statistics.h"
#include "suites/alloc/alloc.h"

/* Fewer have no interval; a process takes from a fraction of a second to several seconds. */
#define LEAST_PROCESSES 6
/* Opening eight GPUs without persistence mode takes almost a minute. */
#define LONGEST_SECONDS 120
#define PRODUCT 64 /* rows and columns */
#define STEP_COUNT 5
#define TICK_SECONDS 50e-9

static const char *const step_names[STEP_COUNT] = { "driver", "context", "kernel", "blas",
						    "collectives" };

/* Arguments of the fresh process. */
struct starting {
	char backend[16], module[16];
	int index, host_devices;
	bool eager, lazy;
	const struct backend *opened;
	struct device *device;
	struct stream *stream;
};

static enum status alloc_start_open_driver(void *state, struct error *err)
{
	struct starting *s = state;
	struct backend_options options = { .host_devices = s->host_devices };
	static struct backend_list list;

	if (s->eager || s->lazy)
		setenv("CUDA_MODULE_LOADING", s->eager ? "EAGER" : "LAZY", 1);
	backends_open(&list, s->backend, &options);
	for (size_t i = 0; i < list.count; i++)
		if (strcmp(list.backends[i]->module, s->module) == 0)
			s->opened = list.backends[i];
	if (s->opened)
		return STATUS_OK;
	return error_set(err, STATUS_DEVICE, "cannot open module %s: %s", s->module,
			 list.missing_count ? list.missing[0] : "the module does not exist");
}

static enum status alloc_start_open_context(void *state, struct error *err)
{
	struct starting *s = state;

	return s->opened->device_open(s->index, &s->device, err);
}

/* The kernel counts its launch: a word of device memory must be 1 afterwards. */
static enum status alloc_start_first_kernel(void *state, struct error *err)
{
	struct starting *s = state;
	uint64_t count = 0;
	void *counter;
	struct empty_arguments empty = { 0 };

	if (backend_stream_create(s->device, false, &s->stream, err) != STATUS_OK ||
	    backend_memory_alloc(s->device, ALLOCATOR_DEVICE, sizeof(count), NULL, &counter, err) !=
		    STATUS_OK)
		return err->status;
	empty.counter = counter;
	if (backend_copy(s->stream, counter, &count, sizeof(count), err) != STATUS_OK ||
	    backend_launch(s->stream, "empty", &empty, err) != STATUS_OK ||
	    backend_copy(s->stream, &count, counter, sizeof(count), err) != STATUS_OK ||
	    backend_stream_synchronize(s->stream, err) != STATUS_OK)
		return err->status;
	return count == 1
		       ? STATUS_OK
		       : error_set(err, STATUS_MISMATCH,
				   "the first kernel was launched once but counted %llu launches",
				   (unsigned long long)count);
}

/* Allocates device memory and fills it with `count` times `value`. */
static enum status alloc_start_fill_memory(struct starting *s, float value, size_t count,
					   void **out, struct error *err)
{
	float *values = xmalloc(count * sizeof(*values));
	enum status status;

	for (size_t i = 0; i < count; i++)
		values[i] = value;
	status = backend_memory_alloc(s->device, ALLOCATOR_DEVICE, count * sizeof(*values), NULL,
				      out, err);
	if (status == STATUS_OK)
		status = backend_copy(s->stream, *out, values, count * sizeof(*values), err);
	if (status == STATUS_OK)
		status = backend_stream_synchronize(s->stream, err);
	free(values);
	return status;
}

static enum status alloc_start_expect_values(struct starting *s, const void *memory, float value,
					     size_t count, const char *what, struct error *err)
{
	float *values = xcalloc(count, sizeof(*values));
	enum status status = backend_copy(s->stream, values, memory, count * sizeof(*values), err);

	if (status == STATUS_OK)
		status = backend_stream_synchronize(s->stream, err);
	for (size_t i = 0; i < count && status == STATUS_OK; i++)
		if (values[i] != value)
			status = error_set(err, STATUS_MISMATCH,
					   "%s: element %zu is %g, expected %g", what, i,
					   (double)values[i], (double)value);
	free(values);
	return status;
}

/* GEMM of 2s and 3s: every element is exactly 6 * 64. */
static enum status alloc_start_first_product(void *state, struct error *err)
{
	struct starting *s = state;
	struct gemm gemm = { .precision = PRECISION_FP32,
			     .m = PRODUCT,
			     .n = PRODUCT,
			     .k = PRODUCT,
			     .lda = PRODUCT,
			     .ldb = PRODUCT,
			     .ldc = PRODUCT,
			     .alpha = 1 };
	size_t count = (size_t)PRODUCT * PRODUCT;
	void *a, *b, *c;

	if (alloc_start_fill_memory(s, 2, count, &a, err) != STATUS_OK ||
	    alloc_start_fill_memory(s, 3, count, &b, err) != STATUS_OK ||
	    alloc_start_fill_memory(s, 0, count, &c, err) != STATUS_OK)
		return err->status;
	gemm.a = a;
	gemm.b = b;
	gemm.c = c;
	if (backend_gemm(s->stream, &gemm, err) != STATUS_OK)
		return err->status;
	return alloc_start_expect_values(s, c, 6 * PRODUCT, count, "the first GEMM", err);
}

static enum status alloc_start_first_collective(void *state, struct error *err)
{
	struct starting *s = state;
	struct communicator *communicator;
	const struct communicator_options options = { .transport = TRANSPORT_AUTO };
	struct communicator_id id;
	void *from, *to;

	if (!s->opened->communicator_id)
		return error_set(err, STATUS_UNSUPPORTED, "backend %s does not support collectives",
				 s->backend);
	if (s->opened->communicator_id(&id, err) != STATUS_OK ||
	    backend_communicator_open(s->device, &options, &id, 0, 1, &communicator, err) !=
		    STATUS_OK ||
	    alloc_start_fill_memory(s, 7, PRODUCT, &from, err) != STATUS_OK ||
	    alloc_start_fill_memory(s, 0, PRODUCT, &to, err) != STATUS_OK ||
	    backend_all_reduce(communicator, s->stream, to, from, PRODUCT, PRECISION_FP32,
			       REDUCE_SUM, err) != STATUS_OK)
		return err->status;
	return alloc_start_expect_values(s, to, 7, PRODUCT, "the first all-reduce", err);
}

/* Used device memory without a context; memory of the operating system also has other users. */
static int64_t alloc_start_used_bytes(void *state)
{
	struct starting *s = state;
	struct error ignored = ERROR_NONE;
	struct device_info info;

	if (!s->opened || s->opened->device_info(s->index, &info, &ignored) != STATUS_OK ||
	    info.capabilities & DEVICE_SHARES_HOST_MEMORY || !info.memory_free_bytes)
		return -1;
	return (int64_t)(info.memory_bytes - info.memory_free_bytes);
}

static const struct steps_work work = {
	.steps = { alloc_start_open_driver, alloc_start_open_context, alloc_start_first_kernel,
		   alloc_start_first_product, alloc_start_first_collective },
	.device_bytes = alloc_start_used_bytes,
};

struct process_starts {
	struct run *run;
	struct starting arguments;
	size_t steps; /* steps that every process completed; the others lack a library */
	double memory[STEP_COUNT], resident[STEP_COUNT]; /* of the latest process */
	struct error missing;                            /* why steps are missing */
};

/* Runs in the fresh process, in which nothing is open. */
static enum status alloc_start_take_steps(struct device *none, const void *arguments, void *result,
					  struct error *err)
{
	struct starting state = *(const struct starting *)arguments;

	(void)none;
	return steps_take(&work, &state, result, err);
}

/* A missing library does not invalidate the steps before it. */
static enum status alloc_start_one(struct process_starts *s, double *seconds, struct error *err)
{
	struct steps_taken taken = { 0 };
	struct error failed = ERROR_NONE;
	struct fork_server_task task = { .device = &s->run->devices[0]->info,
					 .run = alloc_start_take_steps,
					 .arguments = &s->arguments,
					 .arguments_size = sizeof(s->arguments),
					 .result_size = sizeof(taken),
					 .seconds = LONGEST_SECONDS,
					 .nothing_open = true };
	enum status status = fork_server_run(s->run->fork_server, &task, &taken, &failed);
	size_t done = taken.done;

	if (status != STATUS_OK &&
	    (status != STATUS_UNSUPPORTED || !s->run->fork_server || done < 3))
		return error_set(err, status, "%s", failed.message);
	s->missing = failed;
	s->steps = done;
	seconds[0] = 0;
	for (size_t i = 0; i < STEP_COUNT; i++) {
		seconds[1 + i] = i < done ? taken.steps[i].seconds : NAN;
		s->memory[i] = i < done && taken.steps[i].device_bytes >= 0
				       ? (double)taken.steps[i].device_bytes
				       : NAN;
		s->resident[i] = i < done ? (double)taken.steps[i].resident_bytes : NAN;
		seconds[0] += i < done ? taken.steps[i].seconds : 0;
	}
	return STATUS_OK;
}

/* Records the metric of a step, or of the total. */
static void alloc_start_record_value(struct run *run, const char *metric, const char *step,
				     double value)
{
	char name[64];

	if (isnan(value))
		return;
	snprintf(name, sizeof(name), "%s%s%s", metric, step ? "_" : "", step ? step : "");
	run_value(run, name, value);
}

/* Sum of the known values: the memory of the driver is unknown before it is loaded. */
static double alloc_start_sum_of_known(const double *values, size_t count)
{
	double all = NAN;

	for (size_t i = 0; i < count; i++)
		if (!isnan(values[i]))
			all = isnan(all) ? values[i] : all + values[i];
	return all;
}

static const char *const series_names[] = {
	"alloc.start_time",        "alloc.start_time_driver", "alloc.start_time_context",
	"alloc.start_time_kernel", "alloc.start_time_blas",   "alloc.start_time_collectives"
};

/* True if the series of the total is complete; sets its reason. */
static bool alloc_start_has_enough(const struct run *run, struct series *total, double began)
{
	const struct sampling *rules = run->sampler.rules;
	int64_t n = (int64_t)total->count;
	bool drifts;

	total->stop = STOP_INTERRUPTED;
	if (run->sampler.stop && *run->sampler.stop)
		return true;
	total->stop = STOP_CONVERGED;
	if (n < LEAST_PROCESSES && n < rules->min_samples)
		return false;
	if (stats_median_half_width(total->samples, total->count, &drifts) <= rules->target)
		return true;
	total->stop = n >= rules->max_samples ? STOP_MAX_SAMPLES : STOP_MAX_TIME;
	return n >= rules->max_samples || clock_seconds() - began >= rules->max_seconds;
}

/* Starts processes until the total is known; *out: a series per name. The first is not counted. */
static enum status alloc_start_sample(struct process_starts *s, const struct series **out,
				      struct error *err)
{
	struct case_result *result = s->run->result;
	double seconds[ARRAY_SIZE(series_names)], began;
	size_t first = result->series_count;
	struct series *series;

	for (size_t i = 0; i < ARRAY_SIZE(series_names); i++) {
		series = case_result_add_times(result, series_names[i]);
		series->batch = 1;
		series->first = NAN;
	}
	*out = series = &result->series[first];
	alloc_start_one(s, seconds, err);
	for (size_t i = 0; i < ARRAY_SIZE(series_names) && err->status == STATUS_OK; i++)
		series[i].first = seconds[i];
	began = clock_seconds();
	while (err->status == STATUS_OK && alloc_start_one(s, seconds, err) == STATUS_OK) {
		for (size_t i = 0; i < ARRAY_SIZE(series_names); i++) {
			struct series *one = &series[i];

			if (isnan(seconds[i]))
				continue;
			ARRAY_GROW(one->samples, one->count, one->capacity);
			one->samples[one->count++] = seconds[i];
		}
		if (alloc_start_has_enough(s->run, series, began))
			break;
	}
	if (err->status == STATUS_OK && series->stop == STOP_INTERRUPTED)
		error_set(err, STATUS_INTERRUPTED, "interrupted after %zu samples", series->count);
	for (size_t i = 0; i < ARRAY_SIZE(series_names); i++) {
		series[i].stop = series->stop;
		statistics_compute(series[i].samples, series[i].count, 1, TICK_SECONDS, NULL,
				   &series[i].statistics);
	}
	return err->status;
}

static void alloc_start_record(struct process_starts *s, const struct series *series)
{
	for (size_t i = 0; i <= s->steps; i++)
		run_duration(s->run, series_names[i], &series[i]);
	alloc_start_record_value(s->run, "alloc.start_memory", NULL,
				 alloc_start_sum_of_known(s->memory, s->steps));
	alloc_start_record_value(s->run, "alloc.start_resident", NULL,
				 alloc_start_sum_of_known(s->resident, s->steps));
	for (size_t i = 0; i < s->steps; i++) {
		alloc_start_record_value(s->run, "alloc.start_memory", step_names[i], s->memory[i]);
		alloc_start_record_value(s->run, "alloc.start_resident", step_names[i],
					 s->resident[i]);
	}
	if (s->missing.status != STATUS_OK)
		run_note(s->run, "Start-up steps that could not be measured: %s.",
			 s->missing.message);
}

enum status alloc_start(struct run *run, struct error *err)
{
	const struct device_info *info = &run->devices[0]->info;
	enum { LAZY, EAGER } loading = (int)case_integer(run->c, "loadings");
	struct process_starts *s = xcalloc(1, sizeof(*s));
	const struct series *series;

	s->run = run;
	s->arguments =
		(struct starting){ .index = info->index,
				   .host_devices =
					   fork_server_options(run->fork_server).host_devices,
				   .eager = loading == EAGER,
				   .lazy = loading == LAZY };
	snprintf(s->arguments.backend, sizeof(s->arguments.backend), "%s", info->backend);
	snprintf(s->arguments.module, sizeof(s->arguments.module), "%s", info->module);
	if (alloc_start_sample(s, &series, err) == STATUS_OK) {
		alloc_start_record(s, series);
		run_verified(run,
			     "results of the first kernel, the first GEMM and the first all-reduce "
			     "are exact",
			     NAN, NAN);
	}
	free(s);
	return err->status;
}
