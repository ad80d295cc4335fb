/*
 * A soak: all devices at once under a sustained load for minutes to hours, every product, word of
 * memory and transfer compared. The time is cut into slices, each a case, so that a crash loses
 * one; the loads take turns.
 *
 * One process per device. Findings of a rank are named by its device everywhere in the case's
 * result.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "measure/telemetry/telemetry_window.h"
#include "plan/plan.h"
#include "plan/suite.h"
#include "suites/burn/burn.h"
#include "suites/shared/energy.h"
#include "suites/shared/estimate.h"
#include "suites/shared/words.h"

#define SLICES_MOST 5000
/* Points of a device's curves in one run: more would only make the result larger. */
#define INTERVALS_OF_A_RUN 600
#define INTERVAL_LEAST 1.0

static const char *const loads[] = { "bf16", "fp8",   "fp16",   "tf32",  "fp32", "fp64",
				     "int8", "units", "memory", "links", NULL };

/* In the order of enum burn_injection. */
static const char *const injections[] = { "bit", "operand", "row", "address", NULL };

static const struct key keys[] = {
	{ .name = "loads",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "bf16, fp8, fp16, tf32, fp32, fp64, int8, units, memory, links",
	  .choices = loads,
	  .parameter = "load",
	  .help = "bf16, fp8, fp16, tf32, fp32, fp64, int8: GEMMs; units: the same instructions on "
		  "each quarter of each multiprocessor; memory: test patterns in the free memory; "
		  "links: transfers and collectives during GEMMs" },
	{ .name = "duration",
	  .type = KEY_DURATION,
	  .fallback = "10min",
	  .min = 1e-3,
	  .max = 30 * 86400.0,
	  .help = "total duration of all loads" },
	{ .name = "slice",
	  .type = KEY_DURATION,
	  .fallback = "60s",
	  .min = 1e-3,
	  .max = 86400,
	  .help = "longest case; a longer load is cut into slices, and the slices of all loads "
		  "alternate" },
	{ .name = "size",
	  .type = KEY_INTEGER,
	  .fallback = "8192",
	  .min = 16,
	  .max = 65536,
	  .help = "rows and columns of the matrices; a multiple of 16" },
	{ .name = "memory",
	  .type = KEY_PERCENT,
	  .fallback = "95 %",
	  .min = 1e-6,
	  .max = 1,
	  .help = "fraction of the free device memory to test" },
	{ .name = "memory_most",
	  .type = KEY_SIZE,
	  .fallback = "1TiB",
	  .min = 4096,
	  .max = 0x1p50,
	  .help = "upper limit of the memory to test, in addition to the fraction `memory`" },
	{ .name = "link_size",
	  .type = KEY_SIZE,
	  .fallback = "256MiB",
	  .min = 4096,
	  .max = 0x1p36,
	  .help = "bytes of one transfer and of one collective" },
	{ .name = "reading",
	  .type = KEY_DURATION,
	  .fallback = "100ms",
	  .min = 0,
	  .max = 60,
	  .help = "interval between readings of clocks, power and temperature; 0s: no readings" },
	{ .name = "bursts",
	  .type = KEY_PERCENT,
	  .fallback = "0 %",
	  .min = 0,
	  .max = 0.9,
	  .help = "fraction of each GEMM slice that is spent on power pulses: bursts of 2 to 50 ms "
		  "after gaps of 1 to 50 ms, alternately on all devices at once and evenly "
		  "staggered" },
	{ .name = "pause",
	  .type = KEY_DURATION,
	  .fallback = "0s",
	  .min = 0,
	  .max = 3600,
	  .help = "pause after half of each slice of GEMMs, so that it continues on cooler "
		  "devices; the slice is not longer for it" },
	{ .name = "inject",
	  .type = KEY_INTEGER,
	  .fallback = "0",
	  .min = 0,
	  .max = 1e6,
	  .help = "wrong bits to inject per device and slice, to test detection; the case is then "
		  "FAILED" },
	{ .name = "inject_as",
	  .type = KEY_CHOICE,
	  .fallback = "bit",
	  .choices = injections,
	  .help = "bit: inject one bit into a result, signature, memory word or transfer; operand: "
		  "into an operand of one GEMM; row: into 2 KiB of memory; address: store a word "
		  "at an address that differs in one bit. A load that has no such place uses bit" },
	{ 0 },
};

static const char *const axes[] = { "loads", NULL };

static const struct metric_kind_row precisions_by_kind[] = { WITHOUT_TENSOR_CORES };

static const struct metric metrics[] = {
	{ "burn.throughput", "FLOP/s", BETTER_HIGHER, 1,
	  "GEMM rate of the slowest device, with every result compared", METRIC_TENSOR,
	  .kinds = precisions_by_kind },
	{ "burn.bandwidth", "B/s", BETTER_HIGHER, 1,
	  "rate at which memory patterns are read, compared and written, on the slowest device" },
	{ "burn.traffic", "B/s", BETTER_HIGHER, 1,
	  "rate at which data is sent over links and reduced during GEMMs, on the slowest device, "
	  "with every byte compared" },
	{ "burn.signatures", "ops/s", BETTER_HIGHER, 1,
	  "number of compared signatures per second on the slowest device; each quarter of a "
	  "multiprocessor computes one per instruction class",
	  METRIC_OTHER },
	{ "burn.time", "s", BETTER_LOWER, 0,
	  "time of one round on the slowest device: one GEMM, one signature of every quarter, one "
	  "memory sweep, or one transfer with its collective" },
	{ "burn.slowest", "1", BETTER_HIGHER, 0,
	  "rate of the slowest device / rate of the fastest" },
	{ "burn.rounds", "1", BETTER_NONE, 0,
	  "number of rounds (GEMMs, signature rounds, memory sweeps or transfers), sum of all "
	  "devices" },
	{ "burn.verified", "B", BETTER_NONE, 0, "bytes compared, sum of all devices" },
	{ "burn.memory_share", "1", BETTER_HIGHER, 0,
	  "tested memory / free memory, on the device with the smallest fraction", METRIC_EXACT,
	  .percent = true },
	{ "burn.wrong", "1", BETTER_LOWER, 0,
	  "number of wrong result elements, signatures and 8-byte memory words, sum of all devices",
	  METRIC_EXACT },
	{ "burn.multiprocessors_seen", "1", BETTER_HIGHER, 0,
	  "number of multiprocessors on which every quarter was checked in all instruction "
	  "classes, on the device with the fewest",
	  METRIC_EXACT },
	{ "burn.injected", "1", BETTER_NONE, 0, "number of injected wrong bits, sum of all devices",
	  METRIC_EXACT },
	{ "burn.found", "1", BETTER_HIGHER, 0,
	  "fraction of the injected wrong bits that were found at the right address", METRIC_EXACT,
	  .percent = true },
	{ "burn.multiply_adds", "1", BETTER_NONE, 0,
	  "number of multiply-adds whose results were compared, on the device with the fewest",
	  METRIC_EXACT },
	{ "burn.hot_multiply_adds", "1", BETTER_NONE, 0,
	  "multiply-adds whose results were compared at 65 °C or more; the lowest count of a "
	  "device",
	  METRIC_EXACT },
	{ "burn.starts", "1", BETTER_NONE, 0,
	  "number of compared GEMMs that started on an idle device, on the device with the fewest",
	  METRIC_EXACT },
	{ "burn.bursts", "1", BETTER_NONE, 0,
	  "compared bursts of GEMMs after gaps (key bursts), on the device with the fewest",
	  METRIC_EXACT },
	{ "burn.detectable_rate", "1", BETTER_LOWER, 0,
	  "smallest fraction of wrong multiply-adds that this slice and earlier slices would "
	  "detect with a probability of 95 %, on every device",
	  METRIC_EXACT },
	{ "burn.checked_share", "1", BETTER_HIGHER, 0,
	  "compared GEMMs in a slice / GEMMs that the same time would allow without comparing "
	  "(including set-up), on the slowest device",
	  METRIC_OTHER, .percent = true },
	ENERGY_METRICS("burn",
		       "energy of one round: one GEMM, signature round, memory sweep or transfer",
		       "flops_per_joule", "FLOP/J", "GEMM operations / energy, all devices"),
	{ "burn.bytes_per_joule", "B/J", BETTER_HIGHER, 0,
	  "bytes of memory sweeps or transfers / energy, all devices", METRIC_OTHER },
	{ 0 },
};

static const struct table_row tables[] = {
	{ .title = "Multiply-adds of the soak",
	  .columns = { "burn.multiply_adds", "burn.detectable_rate", "burn.hot_multiply_adds",
		       "burn.checked_share" },
	  .note = "Multiply-adds of this slice; the detectable rate covers this and all earlier "
		  "slices." },
	ENERGY_TABLE("burn", "time", "flops_per_joule"),
	{ 0 },
};

/* Loads that are no GEMM compute in FP32, if at all. */
static enum precision burn_precision_of(enum burn_load load)
{
	static const enum precision precisions[BURN_LOADS] = {
		[BURN_BF16] = PRECISION_BF16,   [BURN_FP8] = PRECISION_FP8,
		[BURN_FP16] = PRECISION_FP16,   [BURN_TF32] = PRECISION_TF32,
		[BURN_FP32] = PRECISION_FP32,   [BURN_FP64] = PRECISION_FP64,
		[BURN_INT8] = PRECISION_INT8,   [BURN_UNITS] = PRECISION_FP32,
		[BURN_MEMORY] = PRECISION_FP32, [BURN_LINKS] = PRECISION_FP32,
	};

	return precisions[load];
}

/*
 * The number of a slice as a parameter, which no INI key has. Values are borrowed by the plan, so
 * they live as long as the program.
 */
static const struct key slice_key = { .name = "slice", .type = KEY_INTEGER };

static const struct value *burn_slice_value(size_t number)
{
	static struct {
		struct value value;
		char text[16];
	} slices[SLICES_MOST + 1];

	if (!slices[number].value.text) {
		snprintf(slices[number].text, sizeof(slices[number].text), "%04zu", number);
		slices[number].value.text = slices[number].text;
		slices[number].value.integer = (int64_t)number;
		slices[number].value.real = (double)number;
	}
	return &slices[number].value;
}

static uint64_t burn_load_bytes(const struct plan_case *point, enum burn_load load,
				const struct device_info *info, int ranks)
{
	if (load == BURN_MEMORY)
		return burn_memory_bytes(point->section, info);
	if (load == BURN_LINKS)
		return burn_links_bytes(point->section, ranks);
	if (load == BURN_UNITS)
		return burn_units_bytes(info);
	return burn_products_bytes(point->section, burn_precision_of(load));
}

/*
 * GEMMs of the shortest slice: a cold one, two that are timed, one round, and one in progress when
 * the time is over. Work before the first round, the CPU's exact values, is part of the slice.
 */
#define PRODUCTS_LEAST 4

static double burn_least_seconds(const struct plan_case *point, enum burn_load load,
				 const struct device_info *info)
{
	double n = (double)section_integer(point->section, "size");

	if (load == BURN_UNITS)
		return 2;
	if (load == BURN_MEMORY)
		return 0.5 + 4 * (double)point->device_bytes / shared_estimate_memory_rate(info);
	return 1.5 + PRODUCTS_LEAST * 2 * n * n * n /
			     shared_estimate_flops(info, burn_precision_of(load));
}

/* One slice on all devices of one backend, of which `first` is the first. */
static enum status burn_plan_slice(struct plan *plan, struct plan_case *point, size_t first,
				   struct error *err)
{
	const struct device_info *info = &plan->devices[first];
	enum burn_load load = burn_outcome_load_of(point);
	size_t count = plan_backend_devices(plan, first);
	char reason[96] = "";

	if (!(info->capabilities & precision_capability(burn_precision_of(load))))
		snprintf(reason, sizeof(reason), "%.31s has no %s", info->id,
			 precision_name(burn_precision_of(load)));
	else if (load == BURN_LINKS && count > 1 && !(info->capabilities & DEVICE_HAS_COLLECTIVES))
		snprintf(reason, sizeof(reason), "%.31s does not support collectives", info->id);
	point->device_bytes = burn_load_bytes(point, load, info, (int)count);
	point->host_bytes = load == BURN_LINKS
				    ? count * (uint64_t)section_integer(point->section, "link_size")
				    : 0;
	point->setup_seconds = burn_least_seconds(point, load, info);
	return plan_add_ranks(plan, point, first, (int)count, *reason ? reason : NULL, err);
}

/*
 * All slices come with the first load, so that the loads take turns: a device is tried hot, and
 * cold, by each.
 */
static enum status burn_expand(struct plan *plan, struct plan_case *point, struct error *err)
{
	const struct setting *all = section_setting(point->section, "loads");
	struct parameter parameters[2] = { { &slice_key, NULL, false, false },
					   point->parameters[0] };
	struct plan_case own = *point;
	double each = section_real(point->section, "duration") /
		      (double)section_setting(point->section, "loads")->count;
	double count = ceil(each / section_real(point->section, "slice") - 1e-9);
	size_t slices;

	/* Slices of each load, and how long each is. */
	count = count < 1 ? 1 : count;
	own.fixed_seconds = each / count;
	slices = count > SLICES_MOST ? SLICES_MOST + 1 : (size_t)count;
	if (point->parameters[0].value != all->values)
		return STATUS_OK;
	if (section_integer(point->section, "size") % 16)
		return error_set(err, STATUS_USAGE,
				 "[suite burn] size = %" PRId64 ": must be a multiple of 16",
				 section_integer(point->section, "size"));
	if (slices > SLICES_MOST)
		return error_set(err, STATUS_USAGE,
				 "[suite burn] duration: more than %d slices per load; increase "
				 "slice",
				 SLICES_MOST);
	own.parameters = parameters;
	own.parameter_count = ARRAY_SIZE(parameters);
	for (size_t n = 1; n <= slices; n++) {
		parameters[0].value = burn_slice_value(n);
		for (size_t l = 0; l < all->count; l++) {
			parameters[1].value = &all->values[l];
			for (size_t i = 0; i < plan->device_count; i++)
				if (plan_first_of_backend(plan, i) &&
				    burn_plan_slice(plan, &own, i, err) != STATUS_OK)
					return err->status;
		}
	}
	return STATUS_OK;
}

static enum status open_burn(struct burn *b, struct error *err)
{
	if (burn_look_record_open(&b->record, b->device, err) != STATUS_OK ||
	    backend_event_create(b->device, &b->start, err) != STATUS_OK)
		return err->status;
	return backend_event_create(b->device, &b->end, err);
}

static enum status burn_run_load(struct burn *b, struct error *err)
{
	enum burn_load load = burn_outcome_load_of(b->run->c);

	if (load == BURN_MEMORY)
		return burn_memory(b, err);
	if (load == BURN_LINKS)
		return burn_links(b, err);
	if (load == BURN_UNITS)
		return burn_units(b, err);
	return burn_products(b, burn_precision_of(load), err);
}

static enum status burn_run(struct run *run, struct error *err)
{
	const struct section *section = run->c->section;
	struct series series = { .first = (double)NAN, .batch = 1 };
	struct burn b = {
		.run = run,
		.world = run->world,
		.device = run->devices[0],
		.series = &series,
		.to_inject = (uint64_t)section_integer(section, "inject"),
		.injection = (enum burn_injection)section_integer(section, "inject_as"),
		.celsius = (double)NAN,
		.seed = run->seed + (uint64_t)run->world->rank,
	};
	struct watch watch;
	size_t readings, throttled;
	enum status status;

	b.recorder = telemetry_watch_begin(b.device, section_real(section, "reading"),
					   fmax(INTERVAL_LEAST, section_real(section, "duration") /
									INTERVALS_OF_A_RUN));
	burn_look_hand_over(&b, true);
	telemetry_window_begin(run->telemetry);
	b.deadline = clock_seconds() + run->c->fixed_seconds;
	/* Agreed on before the ranks have anything to do together. */
	if (world_agree(run->world, open_burn(&b, err), err) == STATUS_OK)
		burn_run_load(&b, err);
	status = err->status;
	if (status == STATUS_OK)
		burn_look_hand_over(&b, true);
	telemetry_window_end(run->telemetry, &readings, &throttled);
	telemetry_watch_end(b.recorder, &watch);
	/* With the device lost, nothing can be closed; the process is about to end. */
	if (!status_loses_device(status)) {
		backend_event_destroy(b.start);
		backend_event_destroy(b.end);
		burn_look_record_close(&b.record);
	}
	status = world_agree(run->world, status, err);
	if (status == STATUS_OK || status == STATUS_INTERRUPTED)
		status = burn_outcome_conclude(&b, &watch, err);
	watch_release(&watch);
	burn_look_forget_events(&b);
	if (b.energy.meter)
		energy_meter_end(b.energy.meter, NULL, &(struct energy_window){ 0 });
	free(series.samples);
	return status;
}

static void *burn_open_state(void)
{
	struct burn_state *state = xcalloc(1, sizeof(*state));

	state->sessions = communicators_sessions_open();
	return state;
}

static void burn_close_state(void *memory)
{
	struct burn_state *state = memory;

	communicators_sessions_close(state->sessions);
	free(state);
}

static void burn_derive(struct run *run, const struct result *all)
{
	enum burn_load load = burn_outcome_load_of(run->c);

	if (load < BURN_UNITS)
		burn_page_state_dose(run, burn_precision_of(load), all);
}

static const struct aspect_row aspects[] = {
	{ "burn.throughput", NULL, NULL, ASPECT_GEMM, .task = "GEMM of the soak" },
	{ "burn.bandwidth", NULL, NULL, ASPECT_MEMORY, .task = "memory traffic of the soak" },
	{ "burn.traffic", NULL, NULL, ASPECT_LINK, .task = "link traffic of the soak" },
	{ "burn.wrong", NULL, NULL, ASPECT_CORRECTNESS },
	{ "burn.found", NULL, NULL, ASPECT_CORRECTNESS },
	{ 0 },
};

/* Rates of one device under load, each result compared, against its data sheet. */
static const struct sheet_row sheet[] = {
	{ "burn.throughput", { "load", "bf16" }, 80, .key = "bf16_tensor" },
	{ "burn.throughput", { "load", "fp8" }, 89, .key = "fp8_tensor" },
	{ "burn.throughput", { "load", "fp16" }, 70, .key = "fp16_tensor" },
	{ "burn.throughput", { "load", "tf32" }, 80, .key = "tf32_tensor" },
	{ "burn.throughput", { "load", "fp32" }, .key = "fp32" },
	{ "burn.throughput", { "load", "fp64" }, 0, 79, .key = "fp64" },
	{ "burn.throughput", { "load", "fp64" }, 80, .key = "fp64_tensor" },
	{ "burn.throughput", { "load", "int8" }, 75, .key = "int8_tensor" },
	{ "burn.bandwidth", { "load", "memory" }, .key = "memory_bandwidth" },
	{ 0 },
};

const struct suite suite_burn = {
	.name = "burn",
	.summary = "soak: all devices under load for minutes to hours, every bit compared",
	.keys = keys,
	.axes = axes,
	.metrics = metrics,
	.tables = tables,
	.aspects = aspects,
	.sheet = sheet,
	.processes = SUITE_PROCESS_PER_DEVICE,
	.expand = burn_expand,
	.run = burn_run,
	.derive = burn_derive,
	.page = &burn_page,
	.open_state = burn_open_state,
	.close_state = burn_close_state,
};
