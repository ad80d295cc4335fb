/*
 * Promises of suite `alloc` beyond single calls (test_suites.c), on the host backend: see
 * suite_fixture.h.
 */
#include "suite_fixture.h"

#include "measure/processes/fork_server.h"
#include "measure/steps.h"
#include "suites/allocators/caching.h"

#define QUICK                                                                                 \
	"[defaults]\nmin_samples = 3\nmax_samples = 4\nmax_time = 20ms\nsample_time = 20us\n" \
	"warmup = 1\n"
#define MIB ((uint64_t)1 << 20)

static double metric_of(const struct case_result *result, const char *name)
{
	const struct metric_value *metric = case_metric(result, name);

	if (!metric)
		fail_msg("no metric %s", name);
	return metric->value;
}

static void run_ok(struct fixture *f, const char *ini, struct case_result *result)
{
	struct error err;

	if (run_only_case(f, ini, result, &err) != STATUS_OK)
		fail_msg("%s: %s", ini, err.message);
	assert_true(result->verification.done);
	assert_nothing_open(ini);
}

static void run_mismatch(struct fixture *f, const char *ini, const char *message)
{
	struct case_result result;
	struct error err;
	enum status status = run_only_case(f, ini, &result, &err);

	if (status != STATUS_MISMATCH || !strstr(err.message, message))
		fail_msg("%s: %s: %s", ini, status_name(status), err.message);
	assert_false(result.verification.done);
	case_result_release(&result);
	assert_nothing_open(ini);
}

static void test_caching_takes_segments_by_its_rules(void **state)
{
	static const struct {
		size_t bytes, segment;
	} rules[] = {
		{ 1, 2 * MIB },
		{ 1 * MIB, 2 * MIB },
		{ 1 * MIB + 1, 20 * MIB },
		{ 10 * MIB - 512, 20 * MIB },
		{ 10 * MIB, 10 * MIB },
		{ 11 * MIB, 12 * MIB },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		struct caching *c =
			caching_open(caching_source_device(f->devices[0]), CACHING_PYTORCH, 0);
		struct error err = ERROR_NONE;
		void *memory;

		assert_int_equal(caching_alloc(c, rules[i].bytes, &memory, &err), STATUS_OK);
		assert_int_equal(caching_reserved(c), rules[i].segment);
		caching_close(c); /* with a block in use */
		assert_nothing_open("caching");
	}
}

static void test_caching_reuses_splits_and_merges(void **state)
{
	struct fixture *f = *state;
	struct caching *c = caching_open(caching_source_device(f->devices[0]), CACHING_PYTORCH, 0);
	struct error err = ERROR_NONE;
	void *whole, *parts[4], *again;

	assert_int_equal(caching_alloc(c, 64 * MIB, &whole, &err), STATUS_OK);
	assert_int_equal(caching_free(c, whole, &err), STATUS_OK);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(caching_alloc(c, 16 * MIB, &parts[i], &err), STATUS_OK);
		assert_ptr_equal(parts[i], (char *)whole + 16 * MIB * i);
	}
	assert_int_equal(caching_reserved(c), 64 * MIB);
	for (size_t i = 0; i < 4; i++) /* from both sides */
		assert_int_equal(caching_free(c, parts[i ^ 1], &err), STATUS_OK);
	assert_int_equal(caching_alloc(c, 64 * MIB, &again, &err), STATUS_OK);
	assert_ptr_equal(again, whole);
	assert_int_equal(caching_trim(c, &err), STATUS_OK);
	assert_int_equal(caching_reserved(c), 64 * MIB); /* it is in use */
	assert_int_equal(caching_free(c, again, &err), STATUS_OK);
	assert_int_equal(caching_free(c, again, &err), STATUS_INTERNAL);
	assert_int_equal(caching_trim(c, &err), STATUS_OK);
	assert_int_equal(caching_reserved(c), 0);
	caching_close(c);
	assert_nothing_open("caching");
}

static void test_caching_holds_its_limit_and_gives_back_first(void **state)
{
	struct fixture *f = *state;
	struct caching *c =
		caching_open(caching_source_device(f->devices[0]), CACHING_PYTORCH, 64 * MIB);
	struct error err = ERROR_NONE;
	void *a, *b;

	assert_int_equal(caching_alloc(c, 40 * MIB, &a, &err), STATUS_OK);
	assert_int_equal(caching_alloc(c, 30 * MIB, &b, &err), STATUS_NO_MEMORY);
	assert_null(b);
	assert_int_equal(caching_free(c, a, &err), STATUS_OK);
	/* Cached blocks would not fit together with it. */
	assert_int_equal(caching_alloc(c, 50 * MIB, &b, &err), STATUS_OK);
	assert_int_equal(caching_reserved(c), 50 * MIB);
	caching_close(c);
	assert_nothing_open("caching");
}

/*
 * The lowest of blocks that fit equally well is taken, whichever was freed last; free ones are
 * counted.
 */
static void test_caching_prefers_the_lowest_and_counts(void **state)
{
	struct fixture *f = *state;
	struct caching *c = caching_open(caching_source_device(f->devices[0]), CACHING_PYTORCH, 0);
	struct error err = ERROR_NONE;
	void *parts[4], *again;
	uint64_t all, largest;

	assert_int_equal(caching_alloc(c, 64 * MIB, &again, &err), STATUS_OK);
	assert_int_equal(caching_free(c, again, &err), STATUS_OK);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(caching_alloc(c, 16 * MIB, &parts[i], &err), STATUS_OK);
	caching_free_bytes(c, &all, &largest);
	assert_int_equal(all, 0);
	assert_int_equal(caching_free(c, parts[0], &err), STATUS_OK);
	assert_int_equal(caching_free(c, parts[2], &err), STATUS_OK);
	caching_free_bytes(c, &all, &largest);
	assert_int_equal(all, 32 * MIB);
	assert_int_equal(largest, 16 * MIB);
	assert_int_equal(caching_alloc(c, 16 * MIB, &again, &err), STATUS_OK);
	assert_ptr_equal(again, parts[0]);
	caching_close(c);
	assert_nothing_open("caching");
}

/* Many sizes in any order: no two blocks share a byte. */
static void test_caching_never_gives_memory_twice(void **state)
{
	struct fixture *f = *state;
	struct caching *c = caching_open(caching_source_device(f->devices[0]), CACHING_PYTORCH, 0);
	struct error err = ERROR_NONE;
	struct {
		unsigned char *memory;
		size_t bytes;
	} live[40] = { 0 };

	for (uint64_t i = 0; i < 4000; i++) {
		size_t k = generator_bits(1, i) % ARRAY_SIZE(live);
		void *memory;

		if (live[k].memory) {
			assert_int_equal(live[k].memory[0], k);
			assert_int_equal(live[k].memory[live[k].bytes - 1], k);
			assert_int_equal(caching_free(c, live[k].memory, &err), STATUS_OK);
			live[k].memory = NULL;
			continue;
		}
		live[k].bytes = (size_t)1 << generator_bits(2, i) % 24;
		live[k].bytes += generator_bits(3, i) % live[k].bytes;
		assert_int_equal(caching_alloc(c, live[k].bytes, &memory, &err), STATUS_OK);
		for (size_t j = 0; j < ARRAY_SIZE(live); j++)
			if (live[j].memory &&
			    live[j].memory < (unsigned char *)memory + live[k].bytes &&
			    (unsigned char *)memory < live[j].memory + live[j].bytes)
				fail_msg("blocks of %zu and %zu bytes overlap", live[k].bytes,
					 live[j].bytes);
		live[k].memory = memory;
		live[k].memory[0] = live[k].memory[live[k].bytes - 1] = (unsigned char)k;
	}
	caching_close(c);
	assert_nothing_open("caching");
}

#define FRAGMENT(allocator, scenario)                                                        \
	QUICK "[suite alloc]\noperations = fragment\nspan = 256MiB\nallocators = " allocator \
	      "\nscenarios = " scenario "\n"

/* 64 blocks of 4 MiB in 256 MiB, 32 of them free, and 32 MiB never used: by hand. */
static void test_fragments_of_a_checkerboard(void **state)
{
	struct case_result result;

	run_ok(*state, FRAGMENT("caching", "checkerboard"), &result);
	assert_true(metric_of(&result, "alloc.total_free") == 160 * MIB);
	assert_true(metric_of(&result, "alloc.largest_free") == 32 * MIB);
	assert_true(fabs(metric_of(&result, "alloc.external_frag") - (1 - 32.0 / 160)) < 1e-12);
	assert_true(metric_of(&result, "alloc.fits_block") == 1);
	assert_true(metric_of(&result, "alloc.fits_double") == 1);
	assert_true(metric_of(&result, "alloc.fits_quarter") == 0);
	assert_true(metric_of(&result, "alloc.kept") >= 256 * MIB);
	case_result_release(&result);
	/* The operating system finds pages anywhere. */
	run_ok(*state, FRAGMENT("device", "checkerboard"), &result);
	assert_true(metric_of(&result, "alloc.external_frag") == 0);
	assert_true(metric_of(&result, "alloc.fits_quarter") == 1);
	case_result_release(&result);
}

/* Which is no fault of the device's. */
static void test_a_span_of_less_than_a_segment(void **state)
{
	struct case_result result;
	struct error err;

	assert_int_equal(run_only_case(*state,
				       QUICK
				       "[suite alloc]\noperations = fragment\nspan = "
				       "4MiB\nallocators = caching\nscenarios = checkerboard\n",
				       &result, &err),
			 STATUS_UNSUPPORTED);
	assert_non_null(strstr(err.message, "smaller than one segment"));
	case_result_release(&result);
	assert_nothing_open("fragment");
}

static void test_fragments_of_alternating_batches(void **state)
{
	struct case_result result;

	run_ok(*state, FRAGMENT("caching", "alternating"), &result);
	assert_true(metric_of(&result, "alloc.external_frag") > 0);
	assert_true(metric_of(&result, "alloc.external_frag") < 1);
	case_result_release(&result);
}

static void test_a_step_is_timed_in_what_earlier_ones_left(void **state)
{
	struct case_result result;

	run_ok(*state, FRAGMENT("arena", "alternating"), &result);
	assert_true(metric_of(&result, "alloc.step") > 0);
	assert_true(metric_of(&result, "alloc.reserved") == 288 * MIB);
	case_result_release(&result);
	run_ok(*state, FRAGMENT("bfc_growth", "alternating"), &result);
	assert_true(metric_of(&result, "alloc.step") > 0);
	assert_true(metric_of(&result, "alloc.reserved") <= 288 * MIB);
	assert_true(metric_of(&result, "alloc.reserved") >= 128 * MIB);
	case_result_release(&result);
}

#define LOGICAL(allocator, scenario) FRAGMENT(allocator, scenario) "logical_devices = 2\n"

/* Each has its own limit, pieces and steps; by hand as for one. */
static void test_logical_devices_are_two_of_one(void **state)
{
	struct case_result result;

	run_ok(*state, LOGICAL("caching", "checkerboard"), &result);
	assert_true(metric_of(&result, "alloc.isolated") == 1);
	assert_true(metric_of(&result, "alloc.total_free") == 160 * MIB);
	assert_true(metric_of(&result, "alloc.largest_free") == 32 * MIB);
	assert_true(metric_of(&result, "alloc.largest_free_second") == 32 * MIB);
	assert_true(fabs(metric_of(&result, "alloc.external_frag_second") - (1 - 32.0 / 160)) <
		    1e-12);
	assert_true(metric_of(&result, "alloc.kept") >= 2 * 256 * MIB);
	case_result_release(&result);
	run_ok(*state, LOGICAL("arena", "alternating"), &result);
	assert_true(metric_of(&result, "alloc.isolated") == 1);
	assert_true(metric_of(&result, "alloc.reserved") == 2 * 288 * MIB);
	assert_true(metric_of(&result, "alloc.external_frag") ==
		    metric_of(&result, "alloc.external_frag_second"));
	assert_true(metric_of(&result, "alloc.step") > 0);
	assert_true(metric_of(&result, "alloc.step_alone") > 0);
	assert_true(metric_of(&result, "alloc.step_slowdown") > 0);
	case_result_release(&result);
}

/* The config's fault, not the allocator's. */
static void test_a_fraction_too_small_is_no_error(void **state)
{
	struct case_result result;
	struct error err;

	assert_int_equal(run_only_case(*state,
				       QUICK
				       "[suite alloc]\noperations = free\nallocators = arena\n"
				       "memory_fraction = 1 %\nsizes = 1TiB\n",
				       &result, &err),
			 STATUS_UNSUPPORTED);
	assert_non_null(strstr(err.message, "memory_fraction limits the allocator to"));
	case_result_release(&result);
	assert_nothing_open("fraction");
}

#define CREATE(method) \
	QUICK "[suite alloc]\noperations = create\nsizes = 1MiB\ncreations = " method "\n"

static void test_what_is_created_is_read(void **state)
{
	static const char *const methods[] = { CREATE("device"), CREATE("copy"), CREATE("pinned") };
	struct case_result result;

	for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
		run_ok(*state, methods[i], &result);
		assert_true(metric_of(&result, "alloc.create") > 0);
		case_result_release(&result);
	}
	spy.spoil_copy = 1;
	spy.spoil_bytes = MIB;
	run_mismatch(*state, CREATE("copy"), "byte");
}

static void test_fragments_lose_no_data(void **state)
{
	spy.spoil_copy = 300;
	spy.spoil_bytes = sizeof(uint64_t);
	run_mismatch(*state, FRAGMENT("device", "checkerboard"), "does not keep its data");
}

#define CONTEND(more) \
	QUICK "[suite alloc]\noperations = contend\nsizes = 64KiB\nthreads = 3\n" more "\n"

static void test_threads_share_an_allocator(void **state)
{
	static const char *const inis[] = { CONTEND("allocators = device"),
					    CONTEND("allocators = caching"),
					    CONTEND("allocators = pageable"),
					    CONTEND("allocators = vmm") };

	for (size_t i = 0; i < ARRAY_SIZE(inis); i++) {
		struct case_result result;

		spy_reset();
		run_ok(*state, inis[i], &result);
		assert_true(fabs(metric_of(&result, "alloc.pair_rate") *
					 metric_of(&result, "alloc.pair") / 3 -
				 1) < 1e-9);
		case_result_release(&result);
	}
}

/* All blocks are the same memory. */
static void *the_block;

static enum status same_alloc(struct device *device, enum allocator allocator, size_t bytes,
			      struct stream *stream, void **out, struct error *err)
{
	(void)device, (void)allocator, (void)bytes, (void)stream, (void)err;
	*out = the_block;
	return STATUS_OK;
}

static enum status same_free(struct device *device, enum allocator allocator, void *memory,
			     size_t bytes, struct stream *stream, struct error *err)
{
	(void)device, (void)allocator, (void)memory, (void)bytes, (void)stream, (void)err;
	return STATUS_OK;
}

static void test_memory_given_twice_is_found(void **state)
{
#ifdef __SANITIZE_THREAD__
	/*
	 * two threads that write the same memory are what it plants, and what ThreadSanitizer
	 * reports
	 */
	skip();
#endif
	the_block = xcalloc(1, 64 << 10);
	spy.table.memory_alloc = same_alloc;
	spy.table.memory_free = same_free;
	run_mismatch(*state, CONTEND("allocators = pageable"), "were given overlapping memory");
	free(the_block);
}

/* A thread's failure is the case's, and ends it. */
static void test_a_threads_failure_is_told(void **state)
{
	for (int n = 20; n <= 60; n += 20) {
		struct case_result result;
		struct error err;

		spy_reset();
		spy.fail_at = n;
		assert_int_equal(run_only_case(*state, CONTEND("allocators = device"), &result,
					       &err),
				 STATUS_DEVICE);
		assert_non_null(strstr(err.message, "told to fail"));
		assert_nothing_open("contend");
		case_result_release(&result);
	}
}

#define GROW(allocator, way)                                                                       \
	QUICK "[suite alloc]\noperations = grow\nsizes = 8MiB\nsteps = 8\nallocators = " allocator \
	      "\ngrowths = " way "\n"

/* Old and new at once, when the content moves; never more than it needs, when it does not. */
static void test_growth_takes_what_its_way_takes(void **state)
{
	static const struct {
		const char *ini;
		double memory;
	} cases[] = {
		{ GROW("device", "once"), 8 },      { GROW("device", "copy"), 8 + 7 },
		{ GROW("device", "double"), 12 },   { GROW("vmm", "map"), 8 },
		{ GROW("caching", "copy"), 8 + 7 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct case_result result;

		spy_reset();
		run_ok(*state, cases[i].ini, &result);
		if (metric_of(&result, "alloc.growth_memory") != cases[i].memory * (double)MIB)
			fail_msg("%s: %g MiB", cases[i].ini,
				 metric_of(&result, "alloc.growth_memory") / (double)MIB);
		assert_true(metric_of(&result, "alloc.growth") > 0);
		case_result_release(&result);
	}
}

/* Steps that are no power of two make the last capacity larger than the size. */
static void test_growth_takes_no_more_than_planned(void **state)
{
	static const char *const ways[] = { "once", "copy", "double" };
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		char ini[256];
		struct case_result result;

		snprintf(ini, sizeof(ini),
			 QUICK "[suite alloc]\noperations = grow\nallocators = device\nsizes = "
			       "9MiB\nsteps = 9\ngrowths = %s\n",
			 ways[i]);
		spy_reset();
		run_ok(f, ini, &result);
		case_result_release(&result);
		plan_from(f, ini, f->infos, 1);
		if (spy.device_peak[0] > f->plan.cases[0].device_bytes)
			fail_msg("%s: %llu of %llu bytes", ways[i],
				 (unsigned long long)spy.device_peak[0],
				 (unsigned long long)f->plan.cases[0].device_bytes);
		plan_done(f);
	}
}

static void test_more_steps_than_bytes(void **state)
{
	struct case_result result;
	struct error err;

	assert_int_equal(run_only_case(*state,
				       QUICK "[suite alloc]\noperations = grow\nallocators = "
					     "device\nsizes = 16B\nsteps = 4096\ngrowths = copy\n",
				       &result, &err),
			 STATUS_UNSUPPORTED);
	assert_non_null(
		strstr(err.message, "16B cannot be divided into steps that are multiples of 8B"));
	case_result_release(&result);
	assert_nothing_open("grow");
}

/* Thousands of calls take seconds, which is no hang. */
static void test_many_steps_have_time(void **state)
{
	struct fixture *f = *state;
	double seconds[2];

	for (size_t i = 0; i < 2; i++) {
		plan_from(f,
			  i ? "[suite alloc]\noperations = grow\nallocators = device\nsizes = "
			      "64KiB\nsteps = 4096\ngrowths = copy\n"
			    : "[suite alloc]\noperations = grow\nallocators = device\nsizes = "
			      "64KiB\nsteps = 16\ngrowths = copy\n",
			  f->infos, 1);
		seconds[i] = f->plan.cases[0].limit_seconds;
		plan_done(f);
	}
	assert_true(seconds[1] > seconds[0] + 4096 * 10e-3);
}

static void test_growth_keeps_its_content(void **state)
{
	static const char *const inis[] = { GROW("vmm", "map"), GROW("device", "copy") };

	for (size_t i = 0; i < ARRAY_SIZE(inis); i++) {
		spy_reset();
		spy.spoil_copy = 3; /* a mark; they are the only copies of that size */
		spy.spoil_bytes = sizeof(uint64_t);
		run_mismatch(*state, inis[i], "does not keep its data");
	}
}

static void test_cost_is_what_is_there(void **state)
{
	struct case_result result;

	run_ok(*state,
	       QUICK "[suite alloc]\noperations = cost\nallocators = device\nsizes = 1MiB\n",
	       &result);
	/* Pages that were touched; transparent huge ones may round up. */
	assert_true(metric_of(&result, "alloc.cost") > 0.95 * (double)MIB);
#ifndef __SANITIZE_THREAD__ /* its shadow of what was touched counts as the process's memory, too */
	assert_true(metric_of(&result, "alloc.cost") < 3.1 * (double)MIB);
#endif
	assert_true(metric_of(&result, "alloc.granularity") == 4096);
	assert_true(metric_of(&result, "alloc.alignment") >= 4096);
	case_result_release(&result);
}

/*
 * A device with memory of its own: 1 GiB, of which what the spy has given is used, and `lost` more.
 */
static struct {
	uint64_t lost;
} card;

static enum status card_memory(struct device *device, uint64_t *free_bytes, uint64_t *total_bytes,
			       struct error *err)
{
	(void)err;
	*total_bytes = 1024 * MIB;
	*free_bytes =
		*total_bytes - spy.device_bytes[device->info.index] - (spy.refused ? card.lost : 0);
	return STATUS_OK;
}

static enum status card_alloc(struct device *device, enum allocator allocator, size_t bytes,
			      struct stream *stream, void **out, struct error *err)
{
	if (allocator_on_device(allocator) &&
	    bytes > 1024 * MIB - spy.device_bytes[device->info.index]) {
		spy.refused = true;
		return error_set(err, STATUS_NO_MEMORY, "the card is full");
	}
	return spy_alloc(device, allocator, bytes, stream, out, err);
}

static int card_setup(void **state)
{
	struct fixture *f = *state;

	spy_reset();
	card.lost = 0;
	spy.table.device_memory = card_memory;
	spy.table.memory_alloc = card_alloc;
	for (int i = 0; i < FIXTURE_DEVICES; i++) {
		f->devices[i]->info.capabilities &= ~(unsigned)DEVICE_SHARES_HOST_MEMORY;
		f->infos[i] = f->devices[i]->info;
	}
	return 0;
}

static int card_teardown(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < FIXTURE_DEVICES; i++) {
		f->devices[i]->info.capabilities |= DEVICE_SHARES_HOST_MEMORY;
		f->infos[i] = f->devices[i]->info;
	}
	return 0;
}

static void test_a_card_is_filled_before(void **state)
{
	struct fixture *f = *state;
	struct case_result result;

	run_ok(f,
	       QUICK "[suite alloc]\noperations = free\nallocators = device\nfills = 90 %\n"
		     "sizes = 4KiB\n",
	       &result);
	assert_true(spy.device_peak[0] >= 0.895 * 1024 * (double)MIB);
	assert_true(spy.device_peak[0] <= 0.91 * 1024 * (double)MIB);
	case_result_release(&result);
}

static void test_fills_are_for_memory_of_its_own(void **state)
{
	struct fixture *f = *state;

	plan_from(f,
		  "[suite alloc]\noperations = free\nallocators = device, pageable\n"
		  "fills = 0 %, 50 %\nsizes = 4KiB\n",
		  f->infos, 1);
	assert_int_equal(f->plan.case_count, 3);
	assert_string_equal(f->plan.cases[0].id, "alloc/device/free/4KiB@host:0");
	assert_null(f->plan.cases[0].skip_reason);
	assert_string_equal(f->plan.cases[1].id, "alloc/device/free/fill=50%/4KiB@host:0");
	assert_non_null(strstr(f->plan.cases[1].skip_reason, "other processes need it"));
	assert_string_equal(f->plan.cases[2].id, "alloc/pageable/free/4KiB@host:0");
	plan_done(f);
}

#define EXHAUST QUICK "[suite alloc]\noperations = exhaust\nallocators = device\n"

static void test_a_card_is_used_up_and_comes_back(void **state)
{
	struct case_result result;

	run_ok(*state, EXHAUST, &result);
	assert_true(metric_of(&result, "alloc.granted") == 1024 * MIB);
	assert_true(metric_of(&result, "alloc.granted_share") == 1);
	assert_true(metric_of(&result, "alloc.failure") > 0);
	assert_true(metric_of(&result, "alloc.lost") == 0);
	assert_int_equal(spy.device_bytes[0], 0);
	case_result_release(&result);
}

static void test_lost_memory_is_found(void **state)
{
	card.lost = 100 * MIB;
	run_mismatch(*state, EXHAUST, "are missing after the failed allocation");
	spy.refused = false;
	run_mismatch(*state,
		     QUICK "[suite alloc]\noperations = fail\nallocators = device\nsizes = 4KiB\n",
		     "are missing after the failed allocation");
}

static void test_a_card_is_left_as_small_as_asked(void **state)
{
	struct case_result result;

	run_ok(*state, FRAGMENT("device", "checkerboard"), &result);
	/* The memory filler and the span: 256 MiB and an eighth of it were left. */
	assert_true(spy.device_peak[0] >= (1024 - 32) * MIB);
	assert_true(metric_of(&result, "alloc.fits_quarter") == 1);
	case_result_release(&result);
}

static void test_start_is_a_staircase(void **state)
{
	static const char *const steps[] = { "driver", "context", "kernel", "blas", "collectives" };
	struct case_result result;
	double sum = 0;

	run_ok(*state, QUICK "[suite alloc]\noperations = start\n", &result);
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		char name[64];

		snprintf(name, sizeof(name), "alloc.start_time_%s", steps[i]);
		assert_true(metric_of(&result, name) > 0);
		assert_true(case_series(&result, name)->count >= 3);
		sum += case_series(&result, name)->samples[0];
	}
	assert_true(fabs(case_series(&result, "alloc.start_time")->samples[0] / sum - 1) < 1e-6);
	assert_true(case_metric(&result, "alloc.start_time")->headline);
	/* A CPU's memory is others' as well. */
	assert_null(case_metric(&result, "alloc.start_memory"));
	case_result_release(&result);
}

static enum status pass(void *state, struct error *err)
{
	int *number = state;

	return (*number)++ < 2 ? STATUS_OK
			       : error_set(err, STATUS_UNSUPPORTED, "not step %d", *number);
}

static int64_t grows(void *state)
{
	return 100 * *(int *)state;
}

static void test_steps_are_told_up_to_the_one_that_fails(void **state)
{
	static const struct steps_work work = { .steps = { pass, pass, pass },
						.device_bytes = grows };
	struct steps_taken taken = { 0 };
	struct error err = ERROR_NONE;
	int number = 0;

	(void)state;
	assert_int_equal(steps_take(&work, &number, &taken, &err), STATUS_UNSUPPORTED);
	assert_string_equal(err.message, "not step 3");
	assert_int_equal(taken.done, 2);
	assert_true(taken.steps[1].seconds >= 0);
	assert_int_equal(taken.steps[0].device_bytes, 100);
	assert_int_equal(taken.steps[1].device_bytes, 100);
}

/* Before the backend has threads. */
static int open_all(void **state)
{
	struct error err = ERROR_NONE;

	fixture_fork_server =
		fork_server_open("host",
				 &(struct backend_options){ .host_devices = FIXTURE_DEVICES },
				 &err);
	if (!fixture_fork_server)
		fail_msg("%s", err.message);
	return fixture_open(state);
}

static int close_all(void **state)
{
	fork_server_close(fixture_fork_server);
	return fixture_close(state);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, fixture_reset)
#define CARD(name) cmocka_unit_test_setup_teardown(name, card_setup, card_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_caching_takes_segments_by_its_rules),
		TEST(test_caching_reuses_splits_and_merges),
		TEST(test_caching_holds_its_limit_and_gives_back_first),
		TEST(test_caching_prefers_the_lowest_and_counts),
		TEST(test_caching_never_gives_memory_twice),
		TEST(test_fragments_of_a_checkerboard),
		TEST(test_a_span_of_less_than_a_segment),
		TEST(test_fragments_of_alternating_batches),
		TEST(test_a_step_is_timed_in_what_earlier_ones_left),
		TEST(test_logical_devices_are_two_of_one),
		TEST(test_a_fraction_too_small_is_no_error),
		TEST(test_what_is_created_is_read),
		TEST(test_fragments_lose_no_data),
		TEST(test_threads_share_an_allocator),
		TEST(test_memory_given_twice_is_found),
		TEST(test_a_threads_failure_is_told),
		TEST(test_growth_takes_what_its_way_takes),
		TEST(test_growth_takes_no_more_than_planned),
		TEST(test_more_steps_than_bytes),
		TEST(test_many_steps_have_time),
		TEST(test_growth_keeps_its_content),
		TEST(test_cost_is_what_is_there),
		CARD(test_a_card_is_filled_before),
		TEST(test_fills_are_for_memory_of_its_own),
		CARD(test_a_card_is_used_up_and_comes_back),
		CARD(test_lost_memory_is_found),
		CARD(test_a_card_is_left_as_small_as_asked),
		TEST(test_start_is_a_staircase),
		TEST(test_steps_are_told_up_to_the_one_that_fails),
	};

	return cmocka_run_group_tests(tests, open_all, close_all);
}
