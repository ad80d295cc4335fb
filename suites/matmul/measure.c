/* A GEMM on one device, or the same one on several devices at the same time. */
#include "suites/matmul/measure.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/units.h"
#include "device/architecture.h"
#include "suites/matmul/plan.h"
#include "suites/shared/sustained.h"

static enum status matmul_launch(void *state, unsigned batch, struct error *err)
{
	return operands_multiply(state, batch, err);
}

/*
 * Commands that one operation enqueues: the GEMM and the sum of its parts, once per GEMM of a batch
 * without a batched call. Commands beyond the device's queue could not be enqueued after a closed
 * gate.
 */
static unsigned matmul_commands_of(const struct device_info *info, const struct operands *o)
{
	bool singly =
		o->implementation == IMPLEMENTATION_BLAS && !device_is_host(info) &&
		architecture_stores_half_only(device_capability_number(info), o->problem.precision);

	return singly && o->batch > 2 ? (unsigned)o->batch : 2;
}

static struct workload matmul_workload(struct operands *o, const struct device_info *info)
{
	return (struct workload){ .state = o,
				  .launch = matmul_launch,
				  .clock = CLOCK_DEVICE,
				  .streams = &o->stream,
				  .stream_count = 1,
				  .commands = matmul_commands_of(info, o),
				  .has_energy = true };
}

/*
 * Free bytes on the device; 0: unknown, or memory of the whole machine, which others use as well.
 */
static uint64_t matmul_free_bytes(struct device *device)
{
	struct error unknown = ERROR_NONE;
	uint64_t bytes = 0, total;

	if (device->info.capabilities & DEVICE_SHARES_HOST_MEMORY)
		return 0;
	return backend_device_memory(device, &bytes, &total, &unknown) == STATUS_OK ? bytes : 0;
}

static void matmul_record_memory(struct run *run, const struct operands *o,
				 const struct gemm_choice *choice, uint64_t free_before)
{
	struct device *device = run->devices[0];
	const struct backend *backend = device->backend;
	uint64_t free_after = matmul_free_bytes(device), bytes = 0;
	double workspace = 0;

	for (int i = 0; i < OPERANDS; i++)
		bytes += (uint64_t)o->batch * o->counts[i] * operand_bytes(o->problem.precision, i);
	run_value(run, "matmul.memory", (double)bytes);
	if (o->implementation == IMPLEMENTATION_LT)
		workspace = (double)choice->workspace_bytes;
	else if (o->implementation == IMPLEMENTATION_BLAS && backend->gemm_workspace)
		workspace = (double)backend->gemm_workspace(device);
	run_value(run, "matmul.workspace", workspace);
	if (free_before > 0 && free_after > 0)
		run_value(run, "matmul.device_memory", (double)free_before - (double)free_after);
}

static void matmul_record_error(struct run *run, const struct operands *o)
{
	const char *full = "every element against a double-precision GEMM, before and after timing";
	const char *sums = "eight signed sums of every row against a double-precision GEMM, before "
			   "and after timing";
	const char *range = "every element against a double-precision GEMM, infinite where the "
			    "format overflows, before and after timing";
	bool scaled = o->problem.scale != 1;

	if (scaled) {
		run_value(run, "matmul.nonfinite", o->error.nonfinite);
		run_value(run, "matmul.subnormal", matmul_subnormal_share(&o->problem));
	}
	if (o->error.nonfinite < 1) {
		run_value(run, "matmul.error", o->error.stored);
		run_value(run, "matmul.error_total", o->error.total);
	}
	run_verified(run,
		     scaled                     ? range
		     : o->reference->width == 1 ? full
						: sums,
		     o->error.stored, o->reference->tolerance);
}

/*
 * Runs a first GEMM in a separate stream, so that the library's permanent allocations are not
 * attributed to the first case.
 */
static enum status matmul_load_library(struct run *run, const struct matmul_case *s,
				       struct error *err)
{
	struct matmul_problem problem = s->problem;
	struct gemm_choice choice;
	struct operands o;

	problem.m = problem.n = problem.k = 16;
	if (operands_open(&o, run->devices[0], &problem, 1, s->implementation, err) == STATUS_OK &&
	    (s->implementation != IMPLEMENTATION_LT ||
	     operands_search(&o, 0, &choice, err) == STATUS_OK) &&
	    operands_multiply(&o, 1, err) == STATUS_OK)
		backend_stream_synchronize(o.stream, err);
	operands_close(&o);
	return err->status;
}

static enum status matmul_search_algorithm(struct run *run, struct operands *o,
					   struct gemm_choice *choice, struct error *err)
{
	double seconds = section_real(run->c->section, "search_time");

	if (o->implementation != IMPLEMENTATION_LT)
		return STATUS_OK;
	if (operands_search(o, seconds, choice, err) != STATUS_OK)
		return err->status;
	run_value(run, "matmul.candidates", choice->tried);
	run_value(run, "matmul.search_gain", choice->first_seconds / choice->seconds);
	run_note(run, "Autotuned: %s; %u of %u candidates timed.", choice->text, choice->tried,
		 choice->offered);
	return STATUS_OK;
}

/* All preparations before the samples. The caller closes `o`, even after a failure. */
static enum status matmul_prepare_operands(struct run *run, struct operands *o, struct error *err)
{
	struct matmul_case s = matmul_case_of(run->c);
	struct gemm_choice choice = { .workspace_bytes = 0 };
	uint64_t free_before, cache, set_bytes;
	char size[32];

	/* The same on every device, because the power of a GEMM depends on its operands. */
	s.problem.seed_a = run->run_seed;
	s.problem.seed_b = run->run_seed + 1;
	if (phases_next(run->phases, run->world, "operands", err) != STATUS_OK ||
	    matmul_load_library(run, &s, err) != STATUS_OK)
		return err->status;
	free_before = matmul_free_bytes(run->devices[0]);
	if (operands_open(o, run->devices[0], &s.problem, s.batch, s.implementation, err) !=
		    STATUS_OK ||
	    phases_next(run->phases, run->world, "autotuning", err) != STATUS_OK ||
	    matmul_search_algorithm(run, o, &choice, err) != STATUS_OK)
		return err->status;
	if (phases_next(run->phases, run->world, "check", err) != STATUS_OK)
		return err->status;
	if (operands_verify(o, err) != STATUS_OK)
		return error_prefix(err, "before timing");
	cache = run->devices[0]->info.l2_bytes;
	set_bytes = 0;
	for (int i = 0; i < OPERANDS; i++)
		set_bytes += (uint64_t)o->batch * o->strides[i];
	units_size(cache, size, sizeof(size));
	if (o->sets > 1)
		run_note(run,
			 "Rotates over %zu operand sets, because one would stay in the %s cache.",
			 o->sets, size);
	if (set_bytes * o->sets < cache)
		run_note(run, "All sets together still fit in it.");
	matmul_record_memory(run, o, &choice, free_before);
	return STATUS_OK;
}

static struct sustained_work matmul_work_of(struct run *run, struct operands *o)
{
	return (struct sustained_work){ .run = run,
					.workload = matmul_workload(o, &run->devices[0]->info),
					.operations = matmul_operations(&o->problem, o->batch) };
}

/* All steps after the samples. */
static enum status matmul_conclude(const struct sustained_work *work, struct operands *o,
				   struct error *err)
{
	struct run *run = work->run;

	sustained_record(work);
	run_energy(run, "flops_per_joule", work->operations);
	if (operands_check(o, err) != STATUS_OK)
		return error_prefix(err, "after timing");
	matmul_record_error(run, o);
	return STATUS_OK;
}

enum status matmul_run(struct run *run, struct error *err)
{
	struct operands o = { .stream = NULL };
	struct sustained_work work;

	if (matmul_prepare_operands(run, &o, err) == STATUS_OK) {
		work = matmul_work_of(run, &o);
		if (sustained_sample(&work, err) == STATUS_OK)
			matmul_conclude(&work, &o, err);
	}
	operands_close(&o);
	return err->status;
}

static bool matmul_same_product(const struct plan_case *a, const struct plan_case *b)
{
	if (a->parameter_count != b->parameter_count)
		return false;
	for (size_t i = 0; i < a->parameter_count; i++)
		if (strcmp(a->parameters[i].value->text, b->parameters[i].value->text) != 0)
			return false;
	return true;
}

bool matmul_groups_with(const void *state, const struct plan_case *const *group, size_t count,
			const struct plan_case *other)
{
	(void)state;
	if (other->alone || !section_integer(other->section, "concurrent") ||
	    !matmul_same_product(group[0], other))
		return false;
	for (size_t i = 0; i < count; i++)
		if (group[i]->devices[0] == other->devices[0])
			return false;
	return true;
}

/* The phase in which a device of a group waits. */
#define OTHERS "other devices"

struct matmul_group {
	struct run **runs;
	struct operands **operands;
	struct error **errs;
	size_t count;
};

static void measure_group(const struct matmul_group *g)
{
	struct sustained_work *work = xcalloc(g->count, sizeof(*work));
	struct error *errs = xcalloc(g->count, sizeof(*errs));
	enum status status;

	for (size_t i = 0; i < g->count; i++)
		work[i] = matmul_work_of(g->runs[i], g->operands[i]);
	status = sustained_sample_together(work, g->count, errs);
	for (size_t i = 0; i < g->count; i++) {
		if (errs[i].status != STATUS_OK)
			error_set(g->errs[i], errs[i].status, "%s", errs[i].message);
		else if (status != STATUS_OK)
			error_set(g->errs[i], status, "in a concurrent group");
		else if (phases_next(g->runs[i]->phases, g->runs[i]->world, "check", g->errs[i]) ==
			 STATUS_OK)
			matmul_conclude(&work[i], g->operands[i], g->errs[i]);
		phases_enter(g->runs[i]->phases, OTHERS);
		if (status == STATUS_OK && g->count > 1)
			run_note(g->runs[i], "Sampled together with %zu other device%s.",
				 g->count - 1, g->count == 2 ? "" : "s");
	}
	free(work);
	free(errs);
}

/* A device with a wrong result is left out; the others continue. */
void matmul_run_group(struct run *const *runs, size_t count, struct error *errs)
{
	struct operands *all = xcalloc(count, sizeof(*all));
	struct matmul_group g = { .runs = xcalloc(count, sizeof(struct run *)),
				  .operands = xcalloc(count, sizeof(struct operands *)),
				  .errs = xcalloc(count, sizeof(struct error *)) };

	for (size_t i = 0; i < count; i++) {
		if (matmul_prepare_operands(runs[i], &all[i], &errs[i]) != STATUS_OK)
			continue;
		phases_enter(runs[i]->phases, OTHERS);
		g.runs[g.count] = runs[i];
		g.operands[g.count] = &all[i];
		g.errs[g.count++] = &errs[i];
	}
	if (g.count > 0)
		measure_group(&g);
	for (size_t i = 0; i < count; i++)
		operands_close(&all[i]);
	free(all);
	free(g.runs);
	free(g.operands);
	free(g.errs);
}
