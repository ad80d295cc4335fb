/*
 * The suite `trainmem`: pieces of memory never overlap and join again, each allocation policy keeps
 * to its rules and its limit, plans agree with formulas and with what a step then takes, gradients
 * stay right whatever happens to memory, and searches end soon, close, and with a device that
 * works.
 */
#include "parallel_setups.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "measure/processes/fork_server.h"
#include "suites/shared/search_next.h"
#include "suites/training/trainmem/search.h"

#define MIB (UINT64_C(1) << 20)

static void pieces_never_overlap_and_join_again(void **state)
{
	struct {
		uint64_t offset, bytes;
	} held[40] = { { 0 } };
	struct region region;
	unsigned seed = 7;

	(void)state;
	reservation_region_init(&region, 1 << 20);
	for (int step = 0; step < 4000; step++) {
		size_t i = (seed = seed * 1103515245 + 12345) / 65536 % 40;
		uint64_t bytes = reservation_region_round((seed / 7) % 60000 + 1);
		struct region_piece *piece;

		if (held[i].bytes) {
			reservation_region_give(&region,
						reservation_region_at(&region, held[i].offset));
			held[i].bytes = 0;
			continue;
		}
		piece = reservation_region_find(&region, bytes, (enum region_fit)(step % 2));
		if (!piece)
			continue;
		if (step % 2 == REGION_LAST)
			piece = reservation_region_take_end(&region, piece, bytes);
		else
			reservation_region_take(&region, piece, bytes);
		for (size_t k = 0; k < 40; k++)
			assert_true(!held[k].bytes ||
				    held[k].offset + held[k].bytes <= piece->offset ||
				    piece->offset + piece->bytes <= held[k].offset);
		held[i].offset = piece->offset;
		held[i].bytes = piece->bytes;
	}
	for (size_t i = 0; i < 40; i++)
		if (held[i].bytes)
			reservation_region_give(&region,
						reservation_region_at(&region, held[i].offset));
	assert_int_equal(region.used, 0);
	assert_int_equal(reservation_region_largest_free(&region), 1 << 20);
	reservation_region_release(&region);
}

static void open_without_device(struct heap *heap, enum policy policy, uint64_t limit,
				uint64_t reserve)
{
	struct error err = ERROR_NONE;

	assert_int_equal(heap_open(heap, NULL, NULL, policy, limit, reserve, &err), STATUS_OK);
}

static void *take(struct heap *heap, uint64_t bytes)
{
	struct error err = ERROR_NONE;
	void *memory;

	assert_int_equal(heap_take(heap, MEMORY_TRANSIENT, bytes, &memory, &err), STATUS_OK);
	return memory;
}

/*
 * Small requests share 2 MiB, middle ones 20, large ones are rounded to 2 MiB; what is free is used
 * again.
 */
static void caching_keeps_to_its_rules(void **state)
{
	struct error err = ERROR_NONE;
	void *small, *middle, *large;
	struct heap heap;

	(void)state;
	open_without_device(&heap, POLICY_CACHING, 60 * MIB, 0);
	small = take(&heap, 100);
	assert_int_equal(heap.reserved, 2 * MIB);
	assert_ptr_equal((char *)take(&heap, MIB), (char *)small + 512);
	middle = take(&heap, 3 * MIB);
	assert_int_equal(heap.reserved, 22 * MIB);
	take(&heap, 9 * MIB);
	assert_int_equal(heap.reserved, 22 * MIB);
	large = take(&heap, 11 * MIB);
	assert_int_equal(heap.reserved, 34 * MIB);
	heap_give(&heap, MEMORY_TRANSIENT, middle, 3 * MIB);
	assert_ptr_equal(take(&heap, 2 * MIB), middle);
	/* No room for 30 MiB more, until what is cached is given back. */
	heap_give(&heap, MEMORY_TRANSIENT, large, 11 * MIB);
	assert_int_equal(heap.reserved, 34 * MIB);
	large = take(&heap, 30 * MIB);
	assert_int_equal(heap.reserved, 52 * MIB);
	assert_int_equal(heap_take(&heap, MEMORY_TRANSIENT, 20 * MIB, &middle, &err),
			 STATUS_NO_MEMORY);
	assert_non_null(strstr(err.message, "transient"));
	heap_close(&heap);
}

static void books_add_up(void **state)
{
	struct error err = ERROR_NONE;
	void *a, *b, *c;
	struct heap heap;

	(void)state;
	open_without_device(&heap, POLICY_ARENA, 0, 10 * MIB);
	assert_int_equal(heap_take(&heap, MEMORY_PARAMETERS, 3 * MIB, &a, &err), STATUS_OK);
	heap_begin(&heap, PHASE_FORWARD);
	assert_int_equal(heap_take(&heap, MEMORY_ACTIVATIONS, 4 * MIB, &b, &err), STATUS_OK);
	heap_begin(&heap, PHASE_BACKWARD);
	heap_give(&heap, MEMORY_ACTIVATIONS, b, 4 * MIB);
	assert_int_equal(heap_take(&heap, MEMORY_TRANSIENT, 2 * MIB, &c, &err), STATUS_OK);
	assert_int_equal(heap.peak.total, 7 * MIB);
	assert_int_equal(heap.peak.bytes[MEMORY_ACTIVATIONS], 4 * MIB);
	assert_int_equal(heap.peak.bytes[MEMORY_TRANSIENT], 0);
	assert_int_equal(heap.class_peak[MEMORY_TRANSIENT], 2 * MIB);
	assert_int_equal(heap.phase_peak[PHASE_BACKWARD].total, 7 * MIB);
	assert_int_equal(heap.live_total, 5 * MIB);
	/* Gradients come from the other end. */
	assert_true((char *)c - (char *)a == (ptrdiff_t)(8 * MIB));
	assert_int_equal(heap_take(&heap, MEMORY_ACTIVATIONS, 6 * MIB, &b, &err), STATUS_NO_MEMORY);
	heap_close(&heap);
}

static struct setup perceptron(uint64_t batch, const char *training)
{
	struct setup s = tiny("single", 1, PRECISION_FP32);
	static const uint64_t widths[] = { 1000, 2000, 1000, 10, 0, 0 };

	memcpy(s.widths, widths, sizeof(widths));
	s.layers = 3;
	s.batch = batch;
	setup_set_training(&s, training);
	s.rate = setup_safe_rate(&s);
	return s;
}

/* 1000-2000-1000-10 has 4,013,010 parameters; a sample's input and outputs have 4,010 values. */
static void plans_agree_with_formulas(void **state)
{
	struct training_options options = { .policy = POLICY_MALLOC };
	struct setup s = perceptron(1024, "fp32");
	const double gaps = 1.001;
	struct heap need;

	(void)state;
	trainmem_training_plan(&s, &options, &need);
	assert_in_range(need.peak.bytes[MEMORY_PARAMETERS], 4 * 4013010, 4 * 4013010 * gaps);
	assert_in_range(need.peak.bytes[MEMORY_OPTIMIZER], 8 * 4013010, 8 * 4013010 * gaps);
	assert_int_equal(need.peak.bytes[MEMORY_MASTER], 0);
	assert_int_equal(need.class_peak[MEMORY_ACTIVATIONS], 1024 * (4 * 3010 + 8));
	assert_int_equal(need.peak.bytes[MEMORY_INPUT], 1024 * (4 * 1000 + 4));
	/*
	 * At the worst moment both gradients of the middle layer are there, and the last output is
	 * not.
	 */
	assert_int_equal(need.peak.bytes[MEMORY_TRANSIENT], 1024 * 4 * 3000);
	assert_int_equal(need.peak.bytes[MEMORY_ACTIVATIONS], 1024 * (4 * 2000 + 8));
	s = perceptron(1024, "fp16_mixed");
	trainmem_training_plan(&s, &options, &need);
	assert_in_range(need.peak.bytes[MEMORY_PARAMETERS], 2 * 4013010, 2 * 4013010 * gaps);
	assert_in_range(need.peak.bytes[MEMORY_MASTER], 4 * 4013010, 4 * 4013010 * gaps);
}

/* Both are there at once at no time; an arena needs little more than what is in use together. */
static void an_arena_has_few_gaps(void **state)
{
	static const char *const trainings[] = { "fp32", "fp16_mixed" };
	struct training_options options = { .policy = POLICY_ARENA };

	(void)state;
	for (uint64_t batch = 64; batch <= 65536; batch *= 4)
		for (int i = 0; i < 2; i++) {
			struct setup s = perceptron(batch, trainings[i]);
			struct heap need;

			trainmem_training_plan(&s, &options, &need);
			assert_true(need.reserved_peak >= need.peak.total);
			assert_true((double)need.reserved_peak <= 1.01 * (double)need.peak.total);
		}
}

static struct setup deep(uint64_t segments)
{
	struct setup s = tiny("single", 1, PRECISION_FP32);

	s.layers = 8;
	for (size_t l = 0; l <= 8; l++)
		s.widths[l] = 64;
	s.batch = 4096;
	s.segments = segments;
	return s;
}

/*
 * Eight equal layers: in 2 segments 3 of 8 outputs are not kept, in 4 one of each two but for the
 * last segment; in 8 nothing is inside a segment, so nothing is saved.
 */
static void segments_save_what_the_formula_says(void **state)
{
	static const struct {
		uint64_t segments, outputs;
	} expected[] = {
		{ 0, 8 }, { 1, 8 }, { 8, 8 }, { 2, 5 }, { 4, 5 },
	};
	struct training_options options = { .policy = POLICY_MALLOC };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		struct setup s = deep(expected[i].segments);
		struct heap need;

		trainmem_training_plan(&s, &options, &need);
		assert_int_equal(need.class_peak[MEMORY_ACTIVATIONS],
				 4096 * (expected[i].outputs * 64 * 4 + 8));
	}
}

struct way {
	const char *training;
	uint64_t segments, accumulate;
	struct training_options options;
};

static enum status check_way(struct device *device, struct world *world, void *context,
			     struct error *err)
{
	const struct way *way = context;
	struct setup s = tiny("single", 1, PRECISION_FP32), small;
	struct verify_check check;

	(void)world;
	setup_set_training(&s, way->training);
	s.loss_scale = s.precision == PRECISION_FP16 ? 1024 : 1;
	s.segments = way->segments;
	s.accumulate = way->accumulate;
	return trainmem_measure_check_step(device, &s, &way->options, 1e9, &small, &check, err);
}

static void gradients_stay_right_in_every_way(void **state)
{
	static const struct way ways[] = {
		{ "fp32", 0, 1, { .policy = POLICY_ARENA } },
		{ "fp32", 0, 1, { .policy = POLICY_MALLOC } },
		{ "fp32", 0, 1, { .policy = POLICY_CACHING } },
		{ "fp32", 0, 1, { .policy = POLICY_BFC } },
		{ "fp32", 2, 4, { .policy = POLICY_BFC_GROWTH } },
		{ "fp16_mixed", 0, 1, { .policy = POLICY_ARENA } },
		{ "bf16_mixed", 3, 4, { .policy = POLICY_CACHING, .out_of_place = true } },
		{ "fp32", 2, 1, { .policy = POLICY_ARENA } },
		{ "fp32", 2, 4, { .policy = POLICY_ARENA, .out_of_place = true } },
		{ "fp32", 5, 1, { .policy = POLICY_MALLOC } },
		{ "fp32", 0, 8, { .policy = POLICY_CACHING } },
		{ "fp32", 0, 1, { .policy = POLICY_ARENA, .offload = true } },
		{ "fp32", 0, 1, { .policy = POLICY_BFC, .offload = true, .swapped = 1 } },
		{ "fp32", 0, 2, { .policy = POLICY_CACHING, .offload = true } },
		{ "fp16_mixed", 0, 1, { .policy = POLICY_MALLOC, .offload = true } },
		{ "fp32", 0, 1, { .policy = POLICY_ARENA, .out_of_place = true } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		struct way way = ways[i];
		char name[32];

		snprintf(name, sizeof(name), "way %zu", i);
		assert_ranks(run_ranks(1, check_way, &way), 1, STATUS_OK, name);
	}
}

static const struct backend *sound;
static struct backend spoilt;

/* Copies of activations to the host lose their last bytes. */
static enum status lossy_copy(struct stream *stream, void *to, const void *from, size_t bytes,
			      struct error *err)
{
	return sound->copy(stream, to, from, bytes > 4096 ? bytes / 2 : bytes, err);
}

static enum status check_spoilt(struct device *device, struct world *world, void *context,
				struct error *err)
{
	sound = device->backend;
	spoilt = *sound;
	spoilt.copy = lossy_copy;
	device->backend = &spoilt;
	return check_way(device, world, context, err);
}

static void a_wrong_gradient_is_found(void **state)
{
	struct way way = { "fp32", 0, 1, { .policy = POLICY_ARENA, .offload = true } };

	(void)state;
	assert_ranks(run_ranks(1, check_spoilt, &way), 1, STATUS_MISMATCH, "lossy offload");
}

static int allocations, refuse_at, blocks_live;

static enum status refusing_alloc(struct device *device, enum allocator allocator, size_t bytes,
				  struct stream *stream, void **out, struct error *err)
{
	enum status status;

	if (++allocations == refuse_at)
		return error_set(err, STATUS_NO_MEMORY, "told to refuse");
	status = sound->memory_alloc(device, allocator, bytes, stream, out, err);
	blocks_live += status == STATUS_OK;
	return status;
}

static enum status counted_free(struct device *device, enum allocator allocator, void *memory,
				size_t bytes, struct stream *stream, struct error *err)
{
	blocks_live -= memory != NULL;
	return sound->memory_free(device, allocator, memory, bytes, stream, err);
}

/* Two steps while the n-th allocation of the device is refused; 0: none. */
static enum status steps_refused_at(struct device *device, enum policy policy, int n, double *loss,
				    struct error *err)
{
	struct training_options options = { .policy = policy, .offload = true };
	struct setup s = tiny("single", 1, PRECISION_FP32);
	struct training t;
	struct heap need;

	trainmem_training_plan(&s, &options, &need);
	options.reserve = need.reserved_peak;
	allocations = blocks_live = 0;
	refuse_at = n;
	if (trainmem_training_open(&t, &s, &options, device, err) == STATUS_OK &&
	    trainmem_training_reset(&t, err) == STATUS_OK &&
	    trainmem_training_step(&t, err) == STATUS_OK &&
	    trainmem_training_step(&t, err) == STATUS_OK &&
	    trainmem_training_wait(&t, err) == STATUS_OK)
		trainmem_training_loss(&t, loss, err);
	trainmem_training_close(&t);
	return err->status;
}

static enum status refuse_each(struct device *device, struct world *world, void *context,
			       struct error *err)
{
	enum policy policy = *(enum policy *)context;
	double expected, loss;

	(void)world;
	sound = device->backend;
	spoilt = *sound;
	spoilt.memory_alloc = refusing_alloc;
	spoilt.memory_free = counted_free;
	device->backend = &spoilt;
	if (steps_refused_at(device, policy, 0, &expected, err) != STATUS_OK)
		return err->status;
	if (allocations == 0)
		return error_set(err, STATUS_MISMATCH, "nothing was allocated");
	for (int n = 1, all = allocations; n <= all; n++) {
		struct error refused = ERROR_NONE;
		enum status status = steps_refused_at(device, policy, n, &loss, &refused);

		if (blocks_live != 0)
			return error_set(err, STATUS_MISMATCH, "refused at %d: %d blocks are left",
					 n, blocks_live);
		/* An allocator that keeps blocks may have had what was missing. */
		if (status == STATUS_OK ? loss != expected : status != STATUS_NO_MEMORY)
			return error_set(err, STATUS_MISMATCH, "refused at %d: %s, loss %g for %g",
					 n, refused.message, loss, expected);
	}
	return STATUS_OK;
}

/* Whichever allocation the device refuses, the step says so, and gives all of it back. */
static void a_refusal_leaves_nothing(void **state)
{
	static const enum policy policies[] = { POLICY_ARENA, POLICY_MALLOC, POLICY_CACHING,
						POLICY_BFC, POLICY_BFC_GROWTH };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(policies); i++) {
		enum policy policy = policies[i];

		assert_ranks(run_ranks(1, refuse_each, &policy), 1, STATUS_OK,
			     policy_names[policy]);
	}
}

static void a_checkerboard_shows_who_can_join(void **state)
{
	static const double expected[] = {
		[POLICY_ARENA] = 0.8,   [POLICY_MALLOC] = 0, [POLICY_ASYNC] = 0,
		[POLICY_CACHING] = 0.8, [POLICY_BFC] = 0.8,  [POLICY_BFC_GROWTH] = 0.8
	};

	(void)state;
	for (int policy = 0; policy < POLICY_COUNT; policy++) {
		struct error err = ERROR_NONE;
		struct fragments f;

		assert_int_equal(trainmem_heap_fragment_checkerboard(NULL, (enum policy)policy,
								     32 * MIB, &f, &err),
				 STATUS_OK);
		assert_float_equal(1 - (double)f.largest_free / (double)f.free_bytes,
				   expected[policy], 1e-9);
	}
}

/* Trials until the search ends when everything up to `truth` fits. */
static int trials_for(uint64_t truth, uint64_t predicted, uint64_t most, uint64_t *found)
{
	uint64_t fits = 0, fails = 0, next;
	int trials = 0;

	while ((next = search_next(fits, fails, predicted, 8, most, 0.01)) != 0) {
		assert_true(next % 8 == 0 && next <= most);
		assert_true(next > fits && (!fails || next < fails));
		if (next <= truth)
			fits = next;
		else
			fails = next;
		assert_true(++trials < 60);
	}
	*found = fits;
	assert_true(!fails || fails - fits <= 8 || (double)(fails - fits) <= 0.01 * (double)fits);
	return trials;
}

static void searches_end_soon_and_close(void **state)
{
	uint64_t found;

	(void)state;
	for (uint64_t truth = 0; truth < 1000000; truth = truth * 3 + 5) {
		assert_true(trials_for(truth, truth / 8 * 8, 1 << 20, &found) <= 2);
		assert_true(found <= truth && truth - found < 8 + truth / 100);
		assert_true(trials_for(truth, (uint64_t)((double)truth * 1.02), 1 << 20, &found) <=
			    5);
		assert_true(trials_for(truth, (uint64_t)((double)truth * 0.97), 1 << 20, &found) <=
			    5);
		trials_for(truth, 0, 1 << 20, &found);
		trials_for(truth, 1 << 20, 1 << 20, &found);
	}
	/* All that is allowed fits. */
	assert_int_equal(trials_for(1 << 21, 1 << 20, 1 << 20, &found), 1);
	assert_int_equal(found, 1 << 20);
}

static struct fork_server *fork_server;
static struct device_info host = { .backend = "host",
				   .module = "built-in",
				   .capabilities = DEVICE_IS_HOST };

static enum status try_batch(uint64_t batch, enum policy policy, struct trial *trial,
			     struct error *err)
{
	struct trial_request request = { .setup = perceptron(batch, "fp32"),
					 .options = { .policy = policy },
					 .capacity = 160 * MIB,
					 .reserve = 4 * MIB };
	struct fork_server_task task = { .device = &host,
					 .run = search_trial_of_step,
					 .arguments = &request,
					 .arguments_size = sizeof(request),
					 .result_size = sizeof(*trial),
					 .seconds = 100 };

	return fork_server_run(fork_server, &task, trial, err);
}

/* Policies that take memory as they go fail where it runs out; and the device works on. */
static void trials_fail_where_memory_runs_out(void **state)
{
	struct error err = ERROR_NONE;
	struct trial trial;

	(void)state;
	if (try_batch(512, POLICY_ARENA, &trial, &err) != STATUS_OK)
		fail_msg("%s", err.message);
	assert_true(trial.fits);
	assert_true(trial.last_loss < trial.first_loss);
	assert_true(trial.peak.total < trial.budget && trial.budget < 156 * MIB);
	assert_int_equal(try_batch(8192, POLICY_ARENA, &trial, &err), STATUS_OK);
	assert_false(trial.fits);
	assert_int_equal(trial.phase, PHASE_SETUP);
	assert_true(trial.works_afterwards);
	assert_int_equal(try_batch(4096, POLICY_MALLOC, &trial, &err), STATUS_OK);
	assert_false(trial.fits);
	assert_int_equal(trial.phase, PHASE_BACKWARD);
	assert_true(trial.works_afterwards);
	assert_int_equal(try_batch(8192, POLICY_MALLOC, &trial, &err), STATUS_OK);
	assert_int_equal(trial.phase, PHASE_FORWARD);
	assert_non_null(strstr(trial.reason, "activations (forward)"));
}

static struct memory_account account_of_setup(struct setup setup, enum policy policy, bool offload)
{
	struct memory_account_request request = {
		.setup = setup, .options = { .policy = policy, .offload = offload }, .steps = 5
	};
	struct fork_server_task task = { .device = &host,
					 .run = memory_account_step,
					 .arguments = &request,
					 .arguments_size = sizeof(request),
					 .result_size = sizeof(struct memory_account),
					 .seconds = 100 };
	struct error err = ERROR_NONE;
	struct memory_account account;
	struct heap need;

	trainmem_training_plan(&request.setup, &request.options, &need);
	request.options.reserve = need.reserved_peak;
	if (fork_server_run(fork_server, &task, &account, &err) != STATUS_OK)
		fail_msg("%s", err.message);
	assert_int_equal(account.peak.total - account.workspace, need.peak.total);
	for (int c = 0; c < MEMORY_STEP_CLASSES; c++)
		if (c != MEMORY_WORKSPACE)
			assert_int_equal(account.peak.bytes[c], need.peak.bytes[c]);
	return account;
}

static struct memory_account account_of(enum policy policy, bool offload)
{
	return account_of_setup(perceptron(1024, "fp32"), policy, offload);
}

/* Classes as planned, to the byte; without aliasing gradients of blocks have their own. */
static void aliasing_is_what_blocks_share(void **state)
{
	static const struct transformer_shape shape = {
		.hidden = 128, .heads = 2, .sequence = 32, .vocabulary = 512
	};
	struct memory_account on, off;
	struct setup s = tiny("single", 1, PRECISION_FP32);

	(void)state;
	setup_transformer(&s, 2, &shape);
	s.batch = 16 * shape.sequence;
	s.rate = setup_safe_rate(&s);
	on = account_of_setup(s, POLICY_MALLOC, false);
	s.no_aliasing = true;
	off = account_of_setup(s, POLICY_MALLOC, false);
	/* Gradients inside the branches, and of the branches' inputs. */
	assert_int_equal(off.peak.total - on.peak.total, s.batch * 5 * 128 * 4);
	assert_true(on.last_loss == off.last_loss);
}

/* The process' memory is what was there before plus what was taken. */
static void books_agree_with_the_system(void **state)
{
	struct memory_account a = account_of(POLICY_MALLOC, false);
	double known = (double)(a.context + a.workspace + a.reserved);

	(void)state;
	assert_int_equal(a.source, MEMORY_SOURCE_PROCESS);
#ifndef __SANITIZE_THREAD__ /* its shadow of what was touched counts as the process's memory, too */
	assert_true(fabs(known - (double)a.measured) < 0.05 * known);
#else
	(void)known;
#endif
	assert_int_equal(a.leaked, 0);
	/* Backward frees the outputs that are in use after the forward pass. */
	assert_true(a.live > a.phase_peak[PHASE_UPDATE].total);
	assert_true(a.inference_peak < a.peak.total);
	assert_int_equal(a.device_calls, 2 * a.takes);
	assert_true(a.last_loss < a.first_loss);
	a = account_of(POLICY_CACHING, true);
	assert_int_equal(a.device_calls, 0);
	/* The first of the two hidden outputs leaves and comes back; the second stays. */
	assert_int_equal(a.moved_bytes, 2 * 1024 * 2000 * 4);
	assert_int_equal(a.host_bytes, 1024 * 2000 * 4);
}

/* Killed is what hangs, not what has long steps. */
static void long_steps_are_no_hang(void **state)
{
	(void)state;
	assert_true(search_trial_limit(60, 10, 0) == 60);
	assert_true(search_trial_limit(60, 10, -1) == 60);
	assert_true(search_trial_limit(60, 10, 30) >= 60 + 2 * 10 * 30);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_never_overlap_and_join_again),
		cmocka_unit_test(long_steps_are_no_hang),
		cmocka_unit_test(caching_keeps_to_its_rules),
		cmocka_unit_test(books_add_up),
		cmocka_unit_test(plans_agree_with_formulas),
		cmocka_unit_test(an_arena_has_few_gaps),
		cmocka_unit_test(segments_save_what_the_formula_says),
		cmocka_unit_test(gradients_stay_right_in_every_way),
		cmocka_unit_test(a_wrong_gradient_is_found),
		cmocka_unit_test(a_refusal_leaves_nothing),
		cmocka_unit_test(a_checkerboard_shows_who_can_join),
		cmocka_unit_test(searches_end_soon_and_close),
		cmocka_unit_test(trials_fail_where_memory_runs_out),
		cmocka_unit_test(books_agree_with_the_system),
		cmocka_unit_test(aliasing_is_what_blocks_share),
	};
	struct backend_options options = { .host_devices = 1 };
	struct error err = ERROR_NONE;
	int failed;

	fork_server = fork_server_open("host", &options, &err);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	fork_server_close(fork_server);
	return failed;
}
