/*
 * The suite `burn` between forked ranks of the host backend: what it plans; that all is well where
 * nothing is wrong; and that every wrong bit is found where it is, whether the suite injects it or
 * a memory or a library that fails.
 */
#include "parallel_ranks.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/memory.h"
#include "kernels/fp8.h"
#include "kernels/soak.h"
#include "kernels/soak_units.h"
#include "measure/run.h"
#include "plan/config.h"
#include "plan/plan.h"
#include "plan/suite.h"
#include "report/acceptance/acceptance.h"
#include "run/workers/describe.h"
#include "report/view/suite_page.h"
#include "suites/burn/burn.h"
#include "suites/burn/exact_table.h"

#define SMALL                                                                                \
	"[suite burn]\nsize = 64\nmemory_most = 1MiB\nlink_size = 64KiB\nduration = 100ms\n" \
	"reading = 10ms\n"
#define LONG "[suite burn]\nsize = 64\nmemory_most = 1MiB\nduration = 1500ms\nreading = 10ms\n"

struct setting_up {
	struct config config;
	struct plan plan;
	int inject; /* faults that are injected on each device in each case */
	bool whole; /* each of them makes several words wrong */
};

static enum status try_plan(struct setting_up *s, const char *ini, int devices, unsigned lacks,
			    struct error *err)
{
	static const struct override none;
	struct device_info infos[RANKS_MAX];
	struct text errors = TEXT_EMPTY;

	memset(infos, 0, sizeof(infos));
	for (int i = 0; i < devices; i++) {
		snprintf(infos[i].id, sizeof(infos[i].id), "host:%d", i);
		strcpy(infos[i].backend, "host");
		infos[i].index = i;
		infos[i].memory_bytes = UINT64_C(1) << 30;
		infos[i].capabilities = (DEVICE_IS_HOST | DEVICE_HAS_FP64 | DEVICE_HAS_FP32 |
					 DEVICE_HAS_FP16 | DEVICE_HAS_BF16 | DEVICE_HAS_FP8 |
					 DEVICE_HAS_INT8 | DEVICE_HAS_COLLECTIVES) &
					~lacks;
	}
	if (config_parse(&s->config, "test.ini", ini, strlen(ini), &none, 0, &errors) != STATUS_OK)
		fail_msg("%s", errors.data);
	text_release(&errors);
	return plan_build(&s->plan, &s->config, infos, (size_t)devices, err);
}

static void plan_from(struct setting_up *s, const char *ini, int devices)
{
	struct error err = ERROR_NONE;

	if (try_plan(s, ini, devices, 0, &err) != STATUS_OK)
		fail_msg("%s", err.message);
}

static void plan_done(struct setting_up *s)
{
	plan_release(&s->plan);
	config_release(&s->config);
}

/* Each load lasts as long as the others, no case longer than a slice, and the loads take turns. */
static void slices_take_turns(void **state)
{
	static const char *const ids[] = {
		"burn/0001/fp32@host:0,host:1", "burn/0001/memory@host:0,host:1",
		"burn/0002/fp32@host:0,host:1", "burn/0002/memory@host:0,host:1",
		"burn/0003/fp32@host:0,host:1", "burn/0003/memory@host:0,host:1"
	};
	struct setting_up s;
	double total = 0;

	(void)state;
	plan_from(&s, "[suite burn]\nloads = fp32, memory\nduration = 5min\nslice = 60s\n", 2);
	assert_int_equal(s.plan.case_count, ARRAY_SIZE(ids));
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		const struct plan_case *c = &s.plan.cases[i];

		assert_string_equal(c->id, ids[i]);
		assert_true(c->fixed_seconds <= 60);
		assert_true(c->estimate_seconds >= c->fixed_seconds);
		assert_true(c->limit_seconds >= c->fixed_seconds + 30);
		total += c->fixed_seconds;
	}
	assert_float_equal(total, 300, 1e-6);
	assert_int_equal(s.plan.cases[1].device_bytes, (uint64_t)(0.95 * (1 << 30)));
	plan_done(&s);
}

static void says_what_cannot_be_planned(void **state)
{
	struct setting_up s;
	struct error err = ERROR_NONE;

	(void)state;
	assert_int_equal(try_plan(&s, "[suite burn]\nsize = 100\n", 1, 0, &err), STATUS_USAGE);
	assert_non_null(strstr(err.message, "multiple of 16"));
	config_release(&s.config);
	error_clear(&err);
	assert_int_equal(try_plan(&s, "[suite burn]\nduration = 24h\nslice = 1s\n", 1, 0, &err),
			 STATUS_USAGE);
	assert_non_null(strstr(err.message, "increase slice"));
	config_release(&s.config);
	error_clear(&err);
	assert_int_equal(try_plan(&s, "[suite burn]\nloads = fp64, fp8, int8, links\n", 2,
				  DEVICE_HAS_FP64 | DEVICE_HAS_FP8 | DEVICE_HAS_INT8 |
					  DEVICE_HAS_COLLECTIVES,
				  &err),
			 STATUS_OK);
	assert_string_equal(s.plan.cases[0].skip_reason, "host:0 has no fp64");
	assert_string_equal(s.plan.cases[1].skip_reason, "host:0 has no fp8");
	assert_string_equal(s.plan.cases[2].skip_reason, "host:0 has no int8");
	assert_string_equal(s.plan.cases[3].skip_reason, "host:0 does not support collectives");
	plan_done(&s);
}

/* The fault on rank `rank`, and how often it happened; each rank has its own copy. */
static struct {
	struct backend table;
	const struct backend *sound;
	enum {
		NOTHING,
		MEMORY,
		PRODUCT,
		PRODUCT_MISSING,
		MULTIPROCESSOR,
		EVERYWHERE,
		OPERAND,
		CHECK_SKIPS,
		CHECK_SLEEPS,
		UNIT_WRONG,
		UNIT_UNSEEN,
		UNITS_ALIKE,
		TRANSFER,
		SUM
	} fault;
	int rank, products, transfers;
	size_t row;      /* of common_faults */
	uint64_t turned; /* bits */
	kernel_fn *soak_memory;
	uint64_t last_offset;
	bool checked;       /* the last comparison was that of a canary, which ends a chunk */
	double chunk_ended; /* when it began */
	double longest_gap; /* between two chunks */
	double gaps[1024];  /* the latest, by chunk */
	size_t chunks;
} spy;

static struct world *own_world;

static bool faulty(int fault)
{
	return (int)spy.fault == fault && (spy.rank < 0 || own_world->rank == spy.rank);
}

/* The check leaves the last column out, or sees no difference. */
static enum status broken_check(struct stream *stream, const void *arguments, struct error *err)
{
	struct soak_table_arguments a = *(const struct soak_table_arguments *)arguments;
	enum status status;

	spy.checked = a.canary != SOAK_NO_CANARY;
	spy.chunk_ended = clock_seconds();
	if (faulty(CHECK_SKIPS))
		a.columns--;
	status = spy.sound->kernel("soak_table")(stream, &a, err);
	if (status != STATUS_OK || !faulty(CHECK_SLEEPS))
		return status;
	status = spy.sound->stream_synchronize(stream, err);
	a.out->count = a.out->recorded = a.out->flipped = 0;
	return status;
}

/* After each sweep that writes, one bit of what was written turns: as a bad cell does. */
static enum status forgetful_memory(struct stream *stream, const void *arguments, struct error *err)
{
	const struct soak_memory_arguments *a = arguments;
	enum status status = spy.soak_memory(stream, arguments, err);
	uint64_t word = generator_bits(17, spy.turned) % a->words;
	uint64_t *at = (uint64_t *)a->memory + word;

	if (status != STATUS_OK || !a->write || !faulty(MEMORY))
		return status;
	status = spy.sound->stream_synchronize(stream, err);
	*at ^= UINT64_C(1) << generator_bits(18, spy.turned++) % 64;
	spy.last_offset = 8 * word;
	return status;
}

#define WRONG_MULTIPROCESSOR 5
#define WRONG_QUARTER 2
#define WRONG_UNIT UNIT_IMAD

/* A defective quarter; a multiprocessor to which no block comes; or all wrong in the same way. */
static enum status spied_units(struct stream *stream, const void *arguments, struct error *err)
{
	const struct soak_units_arguments *a = arguments;
	enum status status = spy.sound->kernel("soak_units")(stream, arguments, err);

	if (status != STATUS_OK || !faulty((int)spy.fault) || spy.fault == NOTHING)
		return status;
	status = spy.sound->stream_synchronize(stream, err);
	for (uint32_t i = 0; i < a->blocks * UNIT_QUARTERS; i++) {
		struct soak_unit *unit = &a->out[i];

		if (unit->began == WRONG_MULTIPROCESSOR && spy.fault == UNIT_UNSEEN)
			unit->ended = 0;
		if (a->unit == WRONG_UNIT && spy.fault == UNITS_ALIKE)
			unit->signature ^= 1;
		if (a->unit == WRONG_UNIT && unit->began == WRONG_MULTIPROCESSOR &&
		    i % UNIT_QUARTERS == WRONG_QUARTER &&
		    (spy.fault == UNIT_WRONG || spy.fault == MULTIPROCESSOR)) {
			unit->signature ^= UINT64_C(1) << 40;
			spy.turned += spy.fault == UNIT_WRONG;
		}
	}
	return status;
}

static kernel_fn *spied_kernel(const char *name)
{
	kernel_fn *real = spy.sound->kernel(name);

	if (strcmp(name, "soak_table") == 0)
		return broken_check;
	if (strcmp(name, "soak_units") == 0)
		return spied_units;
	if (strcmp(name, "soak_memory") != 0)
		return real;
	spy.soak_memory = real;
	return forgetful_memory;
}

/*
 * From the first GEMM on, the same bit of a tile is wrong each time: as with a defective
 * multiprocessor.
 */
static void spoil_tile(const struct gemm *gemm)
{
	for (int column = 8; column < 16; column++)
		for (int row = 16; row < 24; row++) {
			((uint32_t *)gemm->c)[column * gemm->ldc + row] ^= 8;
			spy.turned++;
		}
}

/* An element of A is wrong while this GEMM reads it. */
static enum status multiply_with_wrong_operand(struct stream *stream, const struct gemm *gemm,
					       struct error *err)
{
	uint32_t *element = (uint32_t *)gemm->a + 5 + 7 * gemm->lda;
	enum status status;

	*element ^= 1u << 22;
	status = spy.sound->gemm(stream, gemm, err);
	spy.turned++;
	if (status == STATUS_OK)
		status = spy.sound->stream_synchronize(stream, err);
	*element ^= 1u << 22;
	return status;
}

/* Element `i` of an operand of one byte. */
static double byte_value(const void *memory, int64_t i, enum precision precision)
{
	return precision == PRECISION_INT8 ? ((const int8_t *)memory)[i]
					   : (double)fp8_to_float(((const uint8_t *)memory)[i]);
}

/* In the layout of tensor cores: what no CPU's library has. */
static void multiply_bytes(const struct gemm *g)
{
	for (int64_t column = 0; column < g->n; column++)
		for (int64_t row = 0; row < g->m; row++) {
			double sum = 0;

			for (int64_t d = 0; d < g->k; d++)
				sum += byte_value(g->a, row * g->lda + d, g->precision) *
				       byte_value(g->b, column * g->ldb + d, g->precision);
			if (g->precision == PRECISION_INT8)
				((int32_t *)g->c)[column * g->ldc + row] = (int32_t)sum;
			else
				((float *)g->c)[column * g->ldc + row] = (float)sum;
		}
}

static enum status sound_gemm(struct stream *stream, const struct gemm *gemm, struct error *err)
{
	if (precision_bytes(gemm->precision) > 1)
		return spy.sound->gemm(stream, gemm, err);
	if (!gemm->transpose_a || gemm->transpose_b ||
	    gemm->wide != (gemm->precision == PRECISION_FP8) || gemm->wide != gemm->searched)
		return error_set(err, STATUS_INTERNAL, "not as cuBLAS has it");
	if (spy.sound->stream_synchronize(stream, err) == STATUS_OK)
		multiply_bytes(gemm);
	return err->status;
}

static enum status spied_search(struct stream *stream, const struct gemm *gemm,
				const struct autotune_rules *rules, struct gemm_choice *out,
				struct error *err)
{
	(void)rules;
	*out = (struct gemm_choice){ .tried = 1 };
	return gemm->wide ? spy.sound->stream_synchronize(stream, err)
			  : error_set(err, STATUS_INTERNAL, "a search for nothing");
}

/* The shortest slice has four. */
#define PRODUCTS 3

/* Every third GEMM has a wrong bit, or is not computed at all. */
static enum status spied_gemm(struct stream *stream, const struct gemm *gemm, struct error *err)
{
	bool now = ++spy.products % PRODUCTS == 0;
	enum status status;

	if (spy.checked) {
		double gap = clock_seconds() - spy.chunk_ended;

		spy.gaps[spy.chunks++ % ARRAY_SIZE(spy.gaps)] = gap;
		spy.longest_gap = fmax(spy.longest_gap, gap);
		spy.checked = false;
	}

	if (now && faulty(OPERAND))
		return multiply_with_wrong_operand(stream, gemm, err);

	if (now && faulty(PRODUCT_MISSING)) {
		spy.turned++;
		return STATUS_OK;
	}
	status = sound_gemm(stream, gemm, err);
	if (status == STATUS_OK && faulty(MULTIPROCESSOR)) {
		status = spy.sound->stream_synchronize(stream, err);
		spoil_tile(gemm);
	}
	if (status == STATUS_OK && faulty(EVERYWHERE)) {
		status = spy.sound->stream_synchronize(stream, err);
		for (int64_t i = 0; i < gemm->ldc * gemm->n; i++)
			((uint32_t *)gemm->c)[i] ^= 16;
	}
	if (!now || !faulty(PRODUCT) || status != STATUS_OK)
		return status;
	status = spy.sound->stream_synchronize(stream, err);
	((uint32_t *)gemm->c)[generator_bits(19, spy.turned) % (uint64_t)(gemm->m * gemm->n)] ^=
		UINT32_C(1) << generator_bits(20, spy.turned) % 32;
	spy.turned++;
	return status;
}

/* Every tenth large copy has a wrong bit. */
static enum status spied_copy(struct stream *stream, void *to, const void *from, size_t bytes,
			      struct error *err)
{
	enum status status = spy.sound->copy(stream, to, from, bytes, err);

	if (status != STATUS_OK || bytes != 65536 || !faulty(TRANSFER) || ++spy.transfers % 10 != 0)
		return status;
	status = spy.sound->stream_synchronize(stream, err);
	((char *)to)[generator_bits(21, spy.turned++) % bytes] ^= 1;
	return status;
}

static enum status spied_all_reduce(struct communicator *c, struct stream *stream, void *to,
				    const void *from, size_t count, enum precision precision,
				    enum reduction reduction, struct error *err)
{
	static const float wrong = 1e3f;
	enum status status =
		spy.sound->all_reduce(c, stream, to, from, count, precision, reduction, err);

	if (status != STATUS_OK || !faulty(SUM) || spy.turned)
		return status;
	spy.turned++;
	return spy.sound->copy(stream, (float *)to + 77, &wrong, sizeof(wrong), err);
}

static void spy_on(struct device *device, struct world *world)
{
	own_world = world;
	spy.sound = device->backend;
	spy.table = *spy.sound;
	spy.table.kernel = spied_kernel;
	spy.table.gemm = spied_gemm;
	spy.table.gemm_search = spied_search;
	spy.table.copy = spied_copy;
	spy.table.all_reduce = spied_all_reduce;
	device->backend = &spy.table;
	device->info.multiprocessors = 8;
}

static enum status run_case(const struct plan_case *c, struct device *device, struct world *world,
			    struct case_result *result, struct error *err)
{
	struct sampling rules = sampling_from(c->section);
	struct run run = { .c = c,
			   .devices = &device,
			   .device_count = 1,
			   .world = world,
			   .seed = 4711 + c->index,
			   .result = result };
	enum status status;

	case_result_init(result);
	run.sampler = (struct sampler){ .rules = &rules, .world = world, .device = device };
	run.suite_state = c->suite->open_state();
	status = c->suite->run(&run, err);
	c->suite->close_state(run.suite_state);
	return status;
}

static double metric(const struct case_result *result, const char *name)
{
	const struct metric_value *m = case_metric(result, name);

	return m ? m->value : -1;
}

/* Rank 0 has the watches of all. */
static enum status check_watches(const struct case_result *result, const struct world *world,
				 struct error *err)
{
	size_t wanted = world->rank == 0 ? (size_t)world->size : 0;

	if (result->watch_count != wanted)
		return error_set(err, STATUS_INTERNAL, "rank %d has %zu watches", world->rank,
				 result->watch_count);
	for (size_t i = 0; i < wanted; i++)
		if (result->watches[i].device[5] != (char)('0' + i) ||
		    result->watches[i].readings == 0)
			return error_set(err, STATUS_INTERNAL, "watch %zu: %s, %zu readings", i,
					 result->watches[i].device, result->watches[i].readings);
	return STATUS_OK;
}

static enum status run_sound(struct device *device, struct world *world, void *context,
			     struct error *err)
{
	const struct setting_up *s = context;

	for (size_t i = 0; i < s->plan.case_count && err->status == STATUS_OK; i++) {
		struct case_result result;

		if (s->plan.cases[i].skip_reason) /* TF32 */
			continue;
		spy_on(device, world);
		if (run_case(&s->plan.cases[i], device, world, &result, err) == STATUS_OK)
			check_watches(&result, world, err);
		if (err->status == STATUS_OK &&
		    (metric(&result, "burn.wrong") != 0 || !(metric(&result, "burn.rounds") > 0) ||
		     !(metric(&result, "burn.verified") > 0) || !result.metrics[0].headline ||
		     !(result.metrics[0].value > 0) || !result.verification.done))
			error_set(err, STATUS_INTERNAL, "%g wrong in %g rounds",
				  metric(&result, "burn.wrong"), metric(&result, "burn.rounds"));
		device->backend = spy.sound;
		error_prefix(err, "%s", s->plan.cases[i].id);
		case_result_release(&result);
	}
	return err->status;
}

static void nothing_is_wrong_where_nothing_is(void **state)
{
	struct setting_up s;

	(void)state;
	for (int ranks = 1; ranks <= 3; ranks += 2) {
		plan_from(&s, SMALL, ranks);
		assert_int_equal(s.plan.case_count, 10);
		assert_ranks(run_ranks(ranks, run_sound, &s), ranks, STATUS_OK, "all loads");
		plan_done(&s);
	}
}

/* The shortest gap before one of the last `count` chunks. */
static double shortest_gap(size_t count)
{
	double gap = INFINITY;

	for (size_t i = 1; i <= count && i <= ARRAY_SIZE(spy.gaps) && i <= spy.chunks; i++)
		gap = fmin(gap, spy.gaps[(spy.chunks - i) % ARRAY_SIZE(spy.gaps)]);
	return gap;
}

#define HALF_A_GAP 0.0005 /* seconds, of the shortest gap between bursts */
#define PAUSE 0.1         /* seconds; a part of each test's pause */

/*
 * After a pause and in bursts every result is compared as before; without them nothing is said. No
 * GEMM runs during the pause and in the gap before a burst.
 */
static enum status run_pulsed(struct device *device, struct world *world, void *context,
			      struct error *err)
{
	const struct setting_up *s = context;
	struct case_result result;
	const struct section *section = s->plan.cases[0].section;
	bool pulsed = section_real(section, "bursts") > 0,
	     paused = section_real(section, "pause") > 0;

	spy.longest_gap = 0;
	spy.chunks = 0;
	spy_on(device, world);
	if (run_case(&s->plan.cases[0], device, world, &result, err) == STATUS_OK &&
	    (metric(&result, "burn.wrong") != 0 || !result.verification.done ||
	     (pulsed ? !(metric(&result, "burn.bursts") >= 1)
		     : metric(&result, "burn.bursts") != -1) ||
	     /* Each burst began on an idle device, like the first GEMM. */
	     metric(&result, "burn.starts") <= metric(&result, "burn.bursts")))
		error_set(err, STATUS_INTERNAL, "%g bursts, %g starts, %g wrong",
			  metric(&result, "burn.bursts"), metric(&result, "burn.starts"),
			  metric(&result, "burn.wrong"));
	else if (pulsed && !(shortest_gap((size_t)metric(&result, "burn.bursts")) >= HALF_A_GAP))
		error_set(err, STATUS_INTERNAL, "a burst after %g s",
			  shortest_gap((size_t)metric(&result, "burn.bursts")));
	else if (paused && !(spy.longest_gap >= PAUSE))
		error_set(err, STATUS_INTERNAL, "a pause of %g s", spy.longest_gap);
	device->backend = spy.sound;
	case_result_release(&result);
	return err->status;
}

static void bursts_and_pauses_are_compared(void **state)
{
	static const char *const texts[] = { SMALL "loads = fp32\nbursts = 50 %\n",
					     LONG "loads = bf16\nbursts = 40 %\npause = 150ms\n",
					     LONG "loads = int8\npause = 1h\n" };
	struct setting_up s;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		for (int ranks = 1; ranks <= 2; ranks++) {
			plan_from(&s, texts[i], ranks);
			assert_ranks(run_ranks(ranks, run_pulsed, &s), ranks, STATUS_OK, texts[i]);
			plan_done(&s);
		}
}

/* All that were injected, on every rank. */
static enum status run_injected(struct device *device, struct world *world, void *context,
				struct error *err)
{
	const struct setting_up *s = context;

	spy_on(device, world);
	for (size_t i = 0; i < s->plan.case_count && err->status == STATUS_OK; i++) {
		struct error own = ERROR_NONE;
		struct case_result result;
		enum status status = run_case(&s->plan.cases[i], device, world, &result, &own);
		double injected = s->inject * world->size;

		if (status != STATUS_MISMATCH || metric(&result, "burn.injected") != injected ||
		    metric(&result, "burn.found") != 1 ||
		    (s->whole ? metric(&result, "burn.wrong") < injected
			      : metric(&result, "burn.wrong") != injected))
			error_set(err, STATUS_INTERNAL,
				  "%s: %s, %g injected, %g found, %g wrong: %s",
				  s->plan.cases[i].id, status_name(status),
				  metric(&result, "burn.injected"), metric(&result, "burn.found"),
				  metric(&result, "burn.wrong"), own.message);
		for (int r = 0; r < world->size; r++) {
			char name[48];

			snprintf(name, sizeof(name), "host:%d: %d wrong words", r, s->inject);
			if (!s->whole && !strstr(own.message, name))
				error_set(err, STATUS_INTERNAL, "does not name %s: %s", name,
					  own.message);
		}
		case_result_release(&result);
	}
	return err->status;
}

static void inject(const char *loads, const char *as, int count, int ranks)
{
	struct setting_up s;
	char ini[256];

	snprintf(ini, sizeof(ini), SMALL "loads = %s\nplant = %d\ninject_as = %s\n", loads, count,
		 as);
	plan_from(&s, ini, ranks);
	s.inject = count;
	s.whole = strcmp(as, "operand") == 0 || strcmp(as, "row") == 0;
	assert_ranks(run_ranks(ranks, run_injected, &s), ranks, STATUS_OK, loads);
	plan_done(&s);
}

static void every_injected_bit_is_found(void **state)
{
	(void)state;
	inject("bf16, fp32, fp16, fp64, memory", "bit", 30, 1);
	inject("fp32, memory", "bit", 10, 2);
	inject("bf16, fp8, fp16, fp32, fp64, int8", "operand", 6, 1);
	inject("memory", "row", 6, 2);
	inject("memory", "address", 6, 1);
	inject("units", "bit", 18, 1);
	inject("units", "bit", 3, 2);
	inject("links", "bit", 8, 1);
	inject("links", "bit", 3, 2); /* the ranks wait for each other in every round */
}

/*
 * As many wrong words as bits were turned without the suite's knowledge, on the device where they
 * were.
 */
static enum status run_faulty(struct device *device, struct world *world, void *context,
			      struct error *err)
{
	const struct setting_up *s = context;
	struct error own = ERROR_NONE;
	struct case_result result;
	double turned, wrong;
	enum status status;
	char name[24];

	spy_on(device, world);
	status = run_case(&s->plan.cases[0], device, world, &result, &own);
	wrong = metric(&result, "burn.wrong");
	/* Bits turned after the last sweep of a slice are never read again. */
	turned = world_sum(world, (double)spy.turned);
	if (status != STATUS_MISMATCH || turned < 1 ||
	    (spy.fault == PRODUCT_MISSING || spy.fault == OPERAND ? wrong < turned
								  : wrong != turned))
		error_set(err, STATUS_INTERNAL, "%s: %g turned, %g wrong: %s", status_name(status),
			  turned, wrong, own.message);
	snprintf(name, sizeof(name), "host:%d: ", spy.rank);
	if (!strstr(own.message, name) || strstr(own.message, spy.rank ? "host:0:" : "host:1:"))
		error_set(err, STATUS_INTERNAL, "does not name %s alone: %s", name, own.message);
	if (world->rank == 0 &&
	    (result.watches[spy.rank].wrong == 0 || result.watches[1 - spy.rank].wrong != 0))
		error_set(err, STATUS_INTERNAL, "the watches blame another device");
	case_result_release(&result);
	return err->status;
}

static void every_fault_is_found_and_located(void **state)
{
	static const struct {
		const char *load;
		int fault;
	} rows[] = { { "memory", MEMORY },
		     { "fp32", PRODUCT },
		     { "fp64", PRODUCT_MISSING },
		     { "fp32", MULTIPROCESSOR },
		     { "bf16", MULTIPROCESSOR },

		     { "fp8", MULTIPROCESSOR },
		     { "int8", PRODUCT },
		     { "fp32", OPERAND },
		     { "links", TRANSFER },
		     { "links", SUM } };
	struct setting_up s;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char ini[256];

		snprintf(ini, sizeof(ini), SMALL "loads = %s\n", rows[i].load);
		plan_from(&s, ini, 2);
		spy.fault = rows[i].fault;
		spy.rank = (int)i % 2;
		assert_ranks(run_ranks(2, run_faulty, &s), 2, STATUS_OK, rows[i].load);
		plan_done(&s);
	}
}

/* With `name` in the message of the case, and the wrong ones counted apart from it. */
static enum status run_units(struct device *device, struct world *world, void *context,
			     struct error *err)
{
	static const struct {
		const char *words;
		enum status status;
		double wrong, seen;
	} wanted[] = {
		[UNIT_WRONG] = { "multiprocessor 5, quarter 2, class imad: signature ",
				 STATUS_MISMATCH, 1, 8 },
		[UNIT_UNSEEN] = { "7 of 8 multiprocessors ran the test", STATUS_INTERNAL, -1, -1 },
		[UNITS_ALIKE] = { "imad: 32 of 32 quarters of multiprocessors agree",
				  STATUS_INTERNAL, 1, 0 },
		[MULTIPROCESSOR] = { "units: multiprocessor 5, quarter 2 (imad, again in 3 of 3)",
				     STATUS_MISMATCH, 1, -1 },
		[PRODUCT] = { "units: no multiprocessor is wrong", STATUS_MISMATCH, 1, -1 },
	};
	const struct setting_up *s = context;
	struct error own = ERROR_NONE;
	struct case_result result;
	enum status status;

	spy_on(device, world);
	status = run_case(&s->plan.cases[0], device, world, &result, &own);
	if (status != wanted[spy.fault].status || !strstr(own.message, wanted[spy.fault].words) ||
	    metric(&result, "burn.multiprocessors_seen") != wanted[spy.fault].seen ||
	    (metric(&result, "burn.wrong") > 0) != (wanted[spy.fault].wrong > 0))
		error_set(err, STATUS_INTERNAL, "%s: %g seen, %g wrong: %s", status_name(status),
			  metric(&result, "burn.multiprocessors_seen"),
			  metric(&result, "burn.wrong"), own.message);
	if (spy.fault == UNIT_WRONG && !strstr(own.message, "again in 3 of 3 repeats"))
		error_set(err, STATUS_INTERNAL, "not repeated: %s", own.message);
	case_result_release(&result);
	return err->status;
}

static void the_wrong_multiprocessor_is_named(void **state)
{
	static const struct {
		const char *load;
		int fault;
	} rows[] = { { "units", UNIT_WRONG },
		     { "units", UNIT_UNSEEN },
		     { "units", UNITS_ALIKE },
		     { "fp32", MULTIPROCESSOR },
		     { "fp32", PRODUCT } };
	struct setting_up s;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char ini[256];

		snprintf(ini, sizeof(ini), SMALL "loads = %s\n", rows[i].load);
		plan_from(&s, ini, 1);
		spy.fault = rows[i].fault;
		spy.rank = 0;
		assert_ranks(run_ranks(1, run_units, &s), 1, STATUS_OK, rows[i].load);
		plan_done(&s);
	}
}

/* Faults of the check, or of all results of a device: which of them may blame a device. */
static const struct common_fault {
	int fault, ranks, rank; /* rank -1: all */
	enum status status;
	const char *words;
} common_faults[] = {
	{ CHECK_SKIPS, 1, 0, STATUS_INTERNAL, "the check compared 4032 of 4096 words" },
	{ CHECK_SLEEPS, 1, 0, STATUS_INTERNAL, "the check of GEMM results is broken" },
	{ CHECK_SKIPS, 2, -1, STATUS_INTERNAL, "the check compared 4032 of 4096 words" },
	{ CHECK_SLEEPS, 2, -1, STATUS_INTERNAL, "the check of GEMM results is broken" },
	{ CHECK_SKIPS, 2, 1, STATUS_MISMATCH,
	  "host:1: the check of results fails on this device, but not on host:0" },
	{ CHECK_SLEEPS, 2, 0, STATUS_MISMATCH,
	  "host:0: the check of results fails on this device, but not on host:1" },
	{ EVERYWHERE, 1, 0, STATUS_INTERNAL,
	  "all multiprocessors agree with each other but not with the CPU" },
	{ EVERYWHERE, 2, -1, STATUS_INTERNAL,
	  "all multiprocessors agree with each other but not with the CPU" },
	{ EVERYWHERE, 2, 1, STATUS_MISMATCH, "host:1: " },
	{ UNITS_ALIKE, 2, -1, STATUS_INTERNAL,
	  "all multiprocessors agree with each other but not" },
	{ UNITS_ALIKE, 2, 1, STATUS_MISMATCH, "host:1: " },
};

static enum status run_common_fault(struct device *device, struct world *world, void *context,
				    struct error *err)
{
	const struct common_fault *f = &common_faults[spy.row];
	const struct setting_up *s = context;
	struct error own = ERROR_NONE;
	struct case_result result;
	enum status status;

	spy_on(device, world);
	status = run_case(&s->plan.cases[0], device, world, &result, &own);
	if (status != f->status || !strstr(own.message, f->words))
		error_set(err, STATUS_INTERNAL, "%s: %s", status_name(status), own.message);
	if (f->rank == 1 && strstr(own.message, "host:0: "))
		error_set(err, STATUS_INTERNAL, "blames host:0: %s", own.message);
	case_result_release(&result);
	return err->status;
}

/* A check that does not check is never a sound device, and what all have in common blames none. */
static void common_faults_blame_no_device(void **state)
{
	struct setting_up s;

	(void)state;
	for (spy.row = 0; spy.row < ARRAY_SIZE(common_faults); spy.row++) {
		const struct common_fault *f = &common_faults[spy.row];

		plan_from(&s,
			  f->fault == UNITS_ALIKE ? SMALL "loads = units\n"
						  : SMALL "loads = fp32\n",
			  f->ranks);
		spy.fault = f->fault;
		spy.rank = f->rank;
		assert_ranks(run_ranks(f->ranks, run_common_fault, &s), f->ranks, STATUS_OK,
			     f->words);
		plan_done(&s);
	}
}

/* Events say the place, the bits, the replicas and how often it came again, as members. */
static enum status run_events(struct device *device, struct world *world, void *context,
			      struct error *err)
{
	const struct setting_up *s = context;
	const struct watch_event *e, *last;
	struct error own = ERROR_NONE;
	struct case_result result;
	struct watch *w;

	spy_on(device, world);
	run_case(&s->plan.cases[0], device, world, &result, &own);
	w = &result.watches[0];
	e = w->events;
	last = e + w->event_count - 1;
	if (w->event_count < 2 || !(e->row >= 16 && e->row < 24) ||
	    !(e->column >= 8 && e->column < 16) || e->offset != 4 * (64 * e->column + e->row) ||
	    (strtoull(e->expected, NULL, 16) ^ strtoull(e->got, NULL, 16)) != 8 ||
	    e->repeats != 3 || e->again != 3 || strncmp(e->work, "GEMM 1 of fp32", 14) != 0)
		error_set(err, STATUS_INTERNAL, "%zu events, the first: %s, row %g, column %g, %s",
			  w->event_count, e->work, e->row, e->column, e->got);
	if (last->multiprocessor != WRONG_MULTIPROCESSOR || last->quarter != WRONG_QUARTER ||
	    last->replicas != 31 || last->again != 3 ||
	    strcmp(last->work, "units, class imad") != 0)
		error_set(err, STATUS_INTERNAL, "the last event: %s, multiprocessor %g", last->work,
			  last->multiprocessor);
	case_result_release(&result);
	return err->status;
}

static void events_are_members(void **state)
{
	struct setting_up s;

	(void)state;
	plan_from(&s, SMALL "loads = fp32\n", 1);
	spy.fault = MULTIPROCESSOR;
	spy.rank = 0;
	assert_ranks(run_ranks(1, run_events, &s), 1, STATUS_OK, "events");
	plan_done(&s);
}

/* The largest sum of the first products, of all values; every 997th value by plain sums. */
static void compare_exact_table(const struct exact_problem *x, const double *table)
{
	for (uint32_t i = 0; i < SOAK_TABLE_ENTRIES; i += 997) {
		uint32_t row = i % SOAK_ROW_PERIOD, column = i / SOAK_ROW_PERIOD;
		int64_t sum = 0;

		for (uint32_t d = 0; d < x->k; d++) {
			sum += (int64_t)soak_value(x->seed, x->transposed ? d : row,
						   x->transposed ? row : d, x->range) *
			       soak_value(x->seed + 1, d, column, x->range);
			assert_true(llabs(sum) <= 2 * x->exact_most);
		}
		assert_true(table[i] == (double)sum);
	}
}

/* By plain sums in whole numbers, for every precision and an odd depth. */
static void exact_values_are_exact(void **state)
{
	double *table = xcalloc(SOAK_TABLE_ENTRIES, sizeof(*table));

	(void)state;
	for (int p = 0; p < PRECISION_GEMM_COUNT; p++) {
		struct exact_problem x = exact_table_problem_of((enum precision)p, 1001, 99);
		double most = p == PRECISION_FP64   ? 0x1p53
			      : p == PRECISION_INT8 ? 0x1p31
			      : p == PRECISION_FP8  ? 0x1p12
						    : 0x1p24;

		if (p == PRECISION_FP16_ACC16)
			continue;
		assert_true(x.exact_most <= most);
		assert_true(p == PRECISION_FP8 || (double)x.range * x.range * 1001 <= most);
		assert_true(x.range >= (p == PRECISION_FP8 ? 7 : 100));
		assert_true(exact_table_fill(table, &x));
		compare_exact_table(&x, table);
		/* A sum beyond the limit is noticed, wherever it is. */
		x.exact_most = 20.0 * x.range * x.range;
		assert_false(exact_table_fill(table, &x));
		/* The limit itself is still exact: of one block, the largest value of the table. */
		x.k = 64;
		x.exact_most = INFINITY;
		assert_true(exact_table_fill(table, &x));
		x.exact_most = 0;
		for (uint32_t i = 0; i < SOAK_TABLE_ENTRIES; i++)
			x.exact_most = fmax(x.exact_most, fabs(table[i]));
		assert_true(exact_table_fill(table, &x));
		x.exact_most -= 0.5;
		assert_false(exact_table_fill(table, &x));
	}
	assert_int_equal(exact_table_problem_of(PRECISION_BF16, 64, 0).range, 256);
	assert_int_equal(exact_table_problem_of(PRECISION_FP32, 8192, 0).range, 45);
	assert_int_equal(exact_table_problem_of(PRECISION_FP8, 8192, 0).range, 4);
	assert_int_equal(exact_table_problem_of(PRECISION_INT8, 65536, 0).range, 127);
	free(table);
}

static void places_of_an_entry_are_counted(void **state)
{
	static const uint32_t sizes[] = { 16, 251, 256, 1040 };

	(void)state;
	for (size_t s = 0; s < ARRAY_SIZE(sizes); s++) {
		uint32_t n = sizes[s], row_offset = 8 * 13, column_offset = 240;
		uint64_t sum = 0;

		for (uint32_t entry = 0; entry < SOAK_TABLE_ENTRIES; entry++)
			sum += exact_table_places(entry, n, n, row_offset, column_offset);
		assert_int_equal(sum, (uint64_t)n * n);
	}
	assert_int_equal(exact_table_places(104, 16, 16, 104, 0), 1);
	assert_int_equal(exact_table_places(103, 16, 16, 104, 0), 0);
	assert_int_equal(exact_table_places(104 + 5 * 251, 1040, 500, 104, 0), 5 * 3);
}

static void make_slice(struct run *run, double multiply_adds, double hot)
{
	struct case_result *c = run->result;

	case_result_init(c);
	describe_parameters(run->c, c);
	c->suite = xstrdup("burn");
	c->label = xstrdup("");
	c->device = xstrdup("host:0");
	c->status = CASE_OK;
	run_value(run, "burn.multiply_adds", multiply_adds);
	if (hot >= 0)
		run_value(run, "burn.hot_multiply_adds", hot);
}

static bool tree_holds(const struct tree *tree, const char *words)
{
	if (tree->text && strstr(tree->text, words))
		return true;
	for (size_t i = 0; i < tree->count; i++)
		if (tree_holds(tree->children[i], words))
			return true;
	return false;
}

/* The table's row of a load, and the sentence. */
static void assert_page_states(const struct result *all, const struct case_result *latest)
{
	struct burn_dose dose = burn_page_dose_of(all, latest);
	struct tree *page = tree_new(TREE_MAP), *answers = tree_list(page, "answers"),
		    *tables = tree_list(page, "tables");
	struct text terms = TEXT_EMPTY;
	struct view view;

	assert_float_equal(dose.multiply_adds, 6e15, 1);
	assert_float_equal(dose.one_in / (0.94 * 6e15 / 2.9957323), 1, 1e-6);
	assert_float_equal(dose.one_in_bursts / (0.94 * 6e15 / 19), 1, 1e-6);
	assert_float_equal(dose.one_in_hot / (0.94 * 2e15 / 2.9957323), 1, 1e-6);
	view_init(&view, all, 1);
	burn_page.answer(&view, "burn", answers, tables, &terms);
	view_release(&view);
	assert_true(tree_holds(page, "Defects that this soak would have found"));
	assert_true(tree_holds(page, "6.0×10¹⁵ multiply-adds"));
	assert_true(tree_holds(page, "1.9×10¹⁵"));
	assert_true(tree_holds(page, "3.0×10¹⁴"));
	assert_true(tree_holds(page, "6.3×10¹⁴"));
	assert_true(tree_holds(page, "one multiply-add in 1.9×10¹⁵ (bf16) would"));
	text_release(&terms);
	tree_free(page);
}

/* The page that is signed states the dose of its soak, and of no other stage. */
static void assert_acceptance_states(struct result *all)
{
	for (int is_soak = 0; is_soak < 2; is_soak++) {
		struct tree *page = tree_new(TREE_MAP);
		struct view view;

		for (size_t i = 0; i < all->case_count; i++)
			all->cases[i].stage = is_soak ? RUN_STAGE_SOAK : RUN_STAGE_RATES;
		view_init(&view, all, 1);
		acceptance_soak(&view, page);
		view_release(&view);
		assert_int_equal(tree_holds(page, "Defects that this soak would have found"),
				 is_soak);
		assert_int_equal(tree_holds(page, "multiply-add in 1.9×10¹⁵ (bf16) would"),
				 is_soak);
		tree_free(page);
	}
}

/* Slices of one load on the same devices search together: 2 and 4 x 10^15, of three loads. */
static void the_dose_is_stated(void **state)
{
	static const double counts[] = { 2e15, 9e15, 4e15, 9e15 };
	struct case_result cases[4];
	struct result all = { .cases = cases, .case_count = 4 };
	struct setting_up s;
	struct run run = { .result = &cases[2] };
	char *words;

	(void)state;
	plan_from(&s, "[suite burn]\nloads = bf16, fp32\nduration = 4min\nslice = 60s\n", 1);
	for (size_t i = 0; i < 4; i++) {
		run.c = &s.plan.cases[i];
		run.result = &cases[i];
		make_slice(&run, counts[i], i == 2 ? 2e15 : 0);
	}
	run.c = &s.plan.cases[2];
	run.result = &cases[2];
	run.c->suite->derive(&run, &all);
	assert_float_equal(metric(&cases[2], "burn.detectable_rate") * 0.94 * 6e15, 2.9957323,
			   1e-6);
	assert_non_null(strstr(cases[2].notes, "at least 6.0 x 10^15 multiply-adds in bf16"));
	assert_non_null(strstr(cases[2].notes, "corrupts one in 1.9 x 10^15"));
	assert_non_null(strstr(cases[2].notes, "65 °C or more, a "
					       "defect that corrupts one in 6.3 x 10^14"));
	assert_acceptance_states(&all);
	assert_page_states(&all, &cases[2]);
	words = burn_page_statement(&all);
	assert_non_null(strstr(words, "results of 2.4×10¹⁶ multiply-adds per device"));
	assert_non_null(strstr(words, "one multiply-add in 1.9×10¹⁵ (bf16) would"));
	free(words);
	run_value(&run, "burn.wrong", 1);
	assert_null(burn_page_statement(&all));
	run.c = &s.plan.cases[0];
	run.result = &cases[0];
	run.c->suite->derive(&run, &all);
	assert_float_equal(metric(&cases[0], "burn.detectable_rate") * 0.94 * 2e15, 2.9957323,
			   1e-6);
	assert_non_null(strstr(cases[0].notes, "No GEMM was tested at 65 °C or more."));
	/* A slice with wrong words leaves later ones of its load without a dose. */
	run_value(&run, "burn.wrong", 1);
	cases[0].status = CASE_FAILED;
	case_result_release(&cases[2]);
	run.c = &s.plan.cases[2];
	run.result = &cases[2];
	make_slice(&run, 4e15, -1);
	run.c->suite->derive(&run, &all);
	assert_null(case_metric(&cases[2], "burn.detectable_rate"));
	for (size_t i = 0; i < 4; i++)
		case_result_release(&cases[i]);
	plan_done(&s);
}

#define STREAMS_MOST 64

/* Streams that were given up. They stay, so that none has the address of another. */
static struct {
	struct stream *gone[STREAMS_MOST];
	size_t count;
	bool used; /* one of them */
} streams;

static void keep_stream(struct stream *stream)
{
	if (stream && streams.count < STREAMS_MOST)
		streams.gone[streams.count++] = stream;
}

static enum status record_on_living(struct event *event, struct stream *stream, struct error *err)
{
	for (size_t i = 0; i < streams.count; i++)
		streams.used |= streams.gone[i] == stream;
	return spy.sound->event_record(event, stream, err);
}

static enum status copies_only(struct device *device, enum transport transport,
			       const struct device_set *devices, struct error *err)
{
	if (transport != TRANSPORT_HOST_COPY)
		return error_set(err, STATUS_UNSUPPORTED, "not here");
	return spy.sound->transport_usable(device, transport, devices, err);
}

/* As a worker carries cases out: the session stays. */
static enum status run_slices(struct device *device, struct world *world, void *context,
			      struct error *err)
{
	const struct setting_up *s = context;
	void *state = s->plan.cases[0].suite->open_state();

	spy_on(device, world);
	spy.table.transport_usable = copies_only;
	spy.table.stream_destroy = keep_stream;
	spy.table.event_record = record_on_living;
	for (size_t i = 0; i < s->plan.case_count && err->status == STATUS_OK; i++) {
		const struct plan_case *c = &s->plan.cases[i];
		struct sampling rules = sampling_from(c->section);
		struct case_result result;
		struct run run = { .c = c,
				   .devices = &device,
				   .device_count = 1,
				   .world = world,
				   .suite_state = state,
				   .result = &result };

		case_result_init(&result);
		run.sampler = (struct sampler){ .rules = &rules, .world = world, .device = device };
		c->suite->run(&run, err);
		case_result_release(&result);
	}
	s->plan.cases[0].suite->close_state(state);
	device->backend = spy.sound;
	for (size_t i = 0; i < streams.count; i++)
		spy.sound->stream_destroy(streams.gone[i]);
	if (err->status == STATUS_OK && (streams.used || !streams.count))
		error_set(err, STATUS_INTERNAL, "a stream of %zu was used when it was gone",
			  streams.count);
	return err->status;
}

/*
 * Without a library ranks exchange by copies, whose order a communicator keeps from stream to
 * stream.
 */
static void slices_share_a_communicator_and_no_stream(void **state)
{
	struct setting_up s;

	(void)state;
	spy.fault = NOTHING;
	plan_from(&s, SMALL "loads = links\nslice = 25ms\n", 2);
	assert_int_equal(s.plan.case_count, 4);
	assert_ranks(run_ranks(2, run_slices, &s), 2, STATUS_OK, "slices by copies");
	plan_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slices_take_turns),
		cmocka_unit_test(says_what_cannot_be_planned),
		cmocka_unit_test(nothing_is_wrong_where_nothing_is),
		cmocka_unit_test(bursts_and_pauses_are_compared),
		cmocka_unit_test(every_injected_bit_is_found),
		cmocka_unit_test(every_fault_is_found_and_located),
		cmocka_unit_test(the_wrong_multiprocessor_is_named),
		cmocka_unit_test(common_faults_blame_no_device),
		cmocka_unit_test(events_are_members),
		cmocka_unit_test(exact_values_are_exact),
		cmocka_unit_test(places_of_an_entry_are_counted),
		cmocka_unit_test(the_dose_is_stated),
		cmocka_unit_test(slices_share_a_communicator_and_no_stream),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
