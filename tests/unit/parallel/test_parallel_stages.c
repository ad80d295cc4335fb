/*
 * Stages that send the gradient of their input before they compute those of their weights: what
 * they enqueue in which order, that it is what one device computes, also with copies and with
 * layers computed again, and the memory that it takes.
 */
#include "parallel_setups.h"

#include "base/memory.h"
#include "suites/training/models/network.h"
#include "suites/training/parallel/memory_classes.h"

static const struct backend *sound;
static bool recording;
/* 'p' for each product, 's' for each message sent, in the order of the calls */
static char enqueued[256];

static void note(char what)
{
	size_t length = strlen(enqueued);

	if (recording && length + 1 < sizeof(enqueued))
		enqueued[length] = what;
}

static enum status noted_gemm(struct stream *stream, const struct gemm *gemm, struct error *err)
{
	note('p');
	return sound->gemm(stream, gemm, err);
}

static enum status noted_send(struct communicator *communicator, struct stream *stream,
			      const void *from, size_t bytes, int peer, struct error *err)
{
	note('s');
	return sound->send(communicator, stream, from, bytes, peer, err);
}

struct order {
	struct setup setup;
	const char *expected; /* of `rank` */
	int rank;
};

static enum status run_order(struct device *device, struct world *world, void *context,
			     struct error *err)
{
	static struct backend noting;
	const struct order *order = context;
	struct trainer t = { 0 };
	struct rank_team team;
	enum status status;

	sound = device->backend;
	noting = *sound;
	noting.gemm = noted_gemm;
	noting.send = noted_send;
	device->backend = &noting;
	status = rank_team_open(&team, device, world, err);
	if (status == STATUS_OK)
		status = trainer_open(&t, &order->setup, &team, err);
	recording = true;
	if (status == STATUS_OK)
		status = trainer_step(&t, STEP_ALL, err);
	recording = false;
	if (status == STATUS_OK && world->rank == order->rank &&
	    strcmp(enqueued, order->expected) != 0)
		status = error_set(err, STATUS_MISMATCH, "%s instead of %s", enqueued,
				   order->expected);
	trainer_close(&t);
	rank_team_close(&team);
	return world_agree(world, status, err);
}

/* The last stage of two has the last three layers of five, in two micro-batches. */
static void expect_order(const char *mode, uint64_t segments, const char *expected)
{
	struct order order = { tiny(mode, 2, PRECISION_FP64), expected, 1 };

	order.setup.microbatches = 2;
	order.setup.segments = segments;
	order.setup.grid = (struct grid){ 1, 1, 2 };
	assert_ranks(run_ranks(2, run_order, &order), 2, STATUS_OK, mode);
}

static void gradients_of_inputs_leave_first(void **state)
{
	(void)state;
	/* Forward; the products of the inputs' gradients; the message; those of the weights'. */
	expect_order("1f1b", 0,
		     "ppp"
		     "pppsppp"
		     "ppp"
		     "pppsppp");
	expect_order("1f1b_eager", 0,
		     "ppp"
		     "pppsppp"
		     "ppp"
		     "pppsppp");
	expect_order("hybrid", 0,
		     "ppp"
		     "pppsppp"
		     "ppp"
		     "pppsppp");
	expect_order("gpipe", 0,
		     "ppp"
		     "ppp"
		     "pppsppp"
		     "pppsppp");
	expect_order("layer_split", 0,
		     "ppp"
		     "ppp"
		     "pppppps"
		     "pppppps");
	/*
	 * One segment: its first two layers are computed again. Three: each is done when the one
	 * below begins.
	 */
	expect_order("gpipe", 1,
		     "ppp"
		     "ppp"
		     "pppppsppp"
		     "pppppsppp");
	expect_order("gpipe", 5,
		     "ppp"
		     "ppp"
		     "ppppp"
		     "sp"
		     "ppppp"
		     "sp");
}

/* Four micro-batches in the last stage of two: two of them share the products of the weights. */
static void shared_products_wait_for_the_last_micro_batch(void **state)
{
	struct order order = { tiny("1f1b", 2, PRECISION_FP64), NULL, 1 };

	(void)state;
	order.setup.microbatches = 4;
	order.setup.wgrad_microbatches = 2;
	order.setup.grid = (struct grid){ 1, 1, 2 };
	order.expected = "ppp"
			 "ppps"
			 "ppp"
			 "pppsppp"
			 "ppp"
			 "ppps"
			 "ppp"
			 "pppsppp";
	assert_ranks(run_ranks(2, run_order, &order), 2, STATUS_OK, "1f1b");
	order.setup.mode = mode_find("hybrid");
	assert_ranks(run_ranks(2, run_order, &order), 2, STATUS_OK, "hybrid");
	/* The first stage, of two layers, does not wait for the last one with the others. */
	order.rank = 0;
	order.expected = "pps"
			 "pps"
			 "p"
			 "pps"
			 "ppp"
			 "pps"
			 "ppp"
			 "ppp";
	assert_ranks(run_ranks(2, run_order, &order), 2, STATUS_OK, "first stage");
	order.rank = 1;
	order.setup.mode = mode_find("gpipe");
	order.expected = "ppp"
			 "ppp"
			 "ppp"
			 "ppp"
			 "ppps"
			 "pppsppp"
			 "ppps"
			 "pppsppp";
	assert_ranks(run_ranks(2, run_order, &order), 2, STATUS_OK, "gpipe");
}

static void expect_reference(struct setup *setup, const char *what)
{
	assert_ranks(run_ranks(setup->ranks, run_reference, setup), setup->ranks, STATUS_OK, what);
}

/* Whole stages and such in segments, with each layout. */
static void the_order_changes_no_gradient(void **state)
{
	static const char *const names[] = { "gpipe", "1f1b" };
	static const enum wgrad_layout layouts[] = { WGRAD_DIRECT, WGRAD_TRANSPOSED };
	static const uint64_t segments[] = { 0, 1, 3, 6, 8 };

	(void)state;
	for (size_t m = 0; m < ARRAY_SIZE(names); m++)
		for (size_t r = 0; r < ARRAY_SIZE(layouts); r++)
			for (size_t i = 0; i < ARRAY_SIZE(segments); i++) {
				struct setup setup = tiny(names[m], 2, PRECISION_FP64);
				static const uint64_t widths[] = { 24, 52, 33, 44, 27,
								   40, 21, 36, 10 };

				setup.layers = 8;
				memcpy(setup.widths, widths, sizeof(widths));
				setup.microbatches = 4;
				setup.segments = segments[i];
				setup.weight_gradient = layouts[r];
				expect_reference(&setup, names[m]);
			}
}

/* Stages that keep some, or all, of the micro-batches, of which 2, 4 or all share a product. */
static void shared_products_change_no_gradient(void **state)
{
	static const char *const names[] = { "gpipe", "1f1b", "1f1b_eager", "hybrid" };
	static const enum wgrad_layout layouts[] = { WGRAD_DIRECT, WGRAD_TRANSPOSED };
	static const struct {
		uint64_t micro, shared;
	} cuts[] = { { 4, 2 }, { 6, 3 }, { 8, 2 }, { 8, 4 }, { 8, 8 } };

	(void)state;
	for (size_t m = 0; m < ARRAY_SIZE(names); m++)
		for (size_t r = 0; r < ARRAY_SIZE(layouts); r++)
			for (size_t i = 0; i < ARRAY_SIZE(cuts); i++) {
				struct setup setup = tiny(names[m], 4, PRECISION_FP64);

				setup.batch = 48;
				if (setup.mode->gridded)
					setup.grid = i % 2 ? (struct grid){ 2, 1, 2 }
							   : (struct grid){ 1, 2, 2 };
				setup.microbatches = cuts[i].micro;
				setup.wgrad_microbatches = cuts[i].shared;
				setup.weight_gradient = layouts[r];
				assert_null(setup.mode->refusal(&setup));
				expect_reference(&setup, names[m]);
			}
}

static void as_many_share_a_product_as_make_it_large(void **state)
{
	static const struct {
		uint64_t batch, micro, expected;
	} cases[] = { { 8192, 8, 2 },  { 8192, 16, 4 }, { 8192, 4, 1 }, { 8192, 1, 1 },
		      { 8192, 64, 4 }, { 3072, 3, 1 },  { 6144, 6, 1 }, { 5120, 10, 2 } };
	struct setup s = tiny("1f1b", 2, PRECISION_TF32);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		s.batch = cases[i].batch;
		s.microbatches = cases[i].micro;
		assert_int_equal(setup_usual_wgrad_microbatches(&s), cases[i].expected);
	}
	/* Counts each replica's rows. */
	s.mode = mode_find("hybrid");
	s.grid = (struct grid){ 2, 1, 2 };
	s.ranks = 4;
	s.batch = 16384;
	s.microbatches = 8;
	assert_int_equal(setup_usual_wgrad_microbatches(&s), 2);
	s.segments = 2;
	assert_int_equal(setup_usual_wgrad_microbatches(&s), 1);
	s.wgrad_microbatches = 2;
	assert_non_null(strstr(s.mode->refusal(&s), "recompute"));
	s.segments = 0;
	s.wgrad_microbatches = 3;
	assert_non_null(strstr(s.mode->refusal(&s), "wgrad_microbatches"));
	s.mode = mode_find("layer_split");
	assert_int_equal(setup_wgrad_microbatches(&s), 1);
	assert_int_equal(setup_usual_wgrad_microbatches(&s), 1);
}

struct memory {
	struct setup setup;
	/* gradients between layers, and copies, that the first and the last rank keep */
	uint64_t first, last;
};

static enum status run_memory(struct device *device, struct world *world, void *context,
			      struct error *err)
{
	const struct memory *m = context;
	const struct setup *s = &m->setup;
	uint64_t one = s->batch / s->microbatches * s->widths[1] * precision_bytes(s->precision);
	uint64_t expected = (world->rank == 0 ? m->first : m->last) * one, all = 0, planned;
	struct trainer t = { 0 };
	struct rank_team team;
	enum status status = rank_team_open(&team, device, world, err);

	if (status == STATUS_OK)
		status = trainer_open(&t, s, &team, err);
	for (int c = 0; c < MEMORY_STEP_CLASSES && status == STATUS_OK; c++)
		all += t.arena.bytes[c];
	planned = memory_classes_footprint(s);
	if (status == STATUS_OK && t.arena.bytes[MEMORY_TRANSIENT] != expected)
		status = error_set(err, STATUS_MISMATCH, "%llu B instead of %llu",
				   (unsigned long long)t.arena.bytes[MEMORY_TRANSIENT],
				   (unsigned long long)expected);
	/* The plan is the most of both ranks. */
	if (status == STATUS_OK && planned < all)
		status = error_set(err, STATUS_MISMATCH, "%llu B planned, %llu B taken",
				   (unsigned long long)planned, (unsigned long long)all);
	all = (uint64_t)world_max(world, (double)all);
	if (status == STATUS_OK && s->weight_gradient == WGRAD_DIRECT && planned != all)
		status = error_set(err, STATUS_MISMATCH, "%llu B planned, at most %llu B taken",
				   (unsigned long long)planned, (unsigned long long)all);
	trainer_close(&t);
	rank_team_close(&team);
	return world_agree(world, status, err);
}

static void expect_kept_of(const char *mode, enum wgrad_layout layout, uint64_t segments,
			   uint64_t shared, uint64_t first, uint64_t last)
{
	struct memory m = { tiny(mode, 2, PRECISION_FP32), first, last };

	m.setup.layers = 12;
	for (size_t l = 0; l <= m.setup.layers; l++)
		m.setup.widths[l] = 64;
	m.setup.microbatches = 4;
	m.setup.weight_gradient = layout;
	m.setup.segments = segments;
	m.setup.wgrad_microbatches = shared;
	assert_ranks(run_ranks(2, run_memory, &m), 2, STATUS_OK, mode);
}

static void expect_kept(const char *mode, enum wgrad_layout layout, uint64_t segments,
			uint64_t first, uint64_t last)
{
	expect_kept_of(mode, layout, segments, 1, first, last);
}

/* Stages of six layers: five gradients between them. */
static void memory_is_what_waits(void **state)
{
	(void)state;
	/* No stage waits for the first one: two in turn, and one copy. */
	expect_kept("gpipe", WGRAD_DIRECT, 0, 2, 5);
	expect_kept("gpipe", WGRAD_TRANSPOSED, 0, 3, 2 + 6);
	expect_kept("layer_split", WGRAD_DIRECT, 0, 2, 2);
	expect_kept("layer_split", WGRAD_TRANSPOSED, 0, 3, 3);
	/* Two segments of three layers: two gradients inside of one, and one between them. */
	expect_kept("1f1b", WGRAD_DIRECT, 4, 2, 2 + 1);
	expect_kept("1f1b", WGRAD_TRANSPOSED, 4, 3, 2 + 1 + 3);
	/* Three of two layers: one inside, and two in turn between them. */
	expect_kept("1f1b", WGRAD_DIRECT, 6, 2, 1 + 2);
	expect_kept("1f1b", WGRAD_TRANSPOSED, 6, 3, 2 + 2);
	/* Every stage keeps what waits, of as many micro-batches as share a product. */
	expect_kept_of("1f1b", WGRAD_DIRECT, 0, 2, 2 * 5, 2 * 5);
	expect_kept_of("1f1b", WGRAD_TRANSPOSED, 0, 2, 2 * (2 + 6), 2 * (2 + 6));
	expect_kept_of("gpipe", WGRAD_DIRECT, 0, 4, 4 * 5, 4 * 5);
}

/* Activations that 1F1B keeps: of the warm-up and of those that share a product, whole products. */
static void micro_batches_are_kept_until_their_product(void **state)
{
	static const struct {
		uint64_t shared, first, last; /* micro-batches that each stage keeps of 16 */
	} cases[] = { { 1, 2, 1 }, { 2, 4, 2 }, { 4, 8, 4 }, { 16, 16, 16 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct setup s = tiny("1f1b", 2, PRECISION_FP32);
		struct rank_partition stages[2];

		s.microbatches = 16;
		s.wgrad_microbatches = cases[i].shared;
		for (int rank = 0; rank < 2; rank++)
			s.mode->partition(&s, rank, &stages[rank]);
		assert_int_equal(stages[0].kept, cases[i].first * 4);
		assert_int_equal(stages[1].kept, cases[i].last * 4);
		assert_int_equal(stages[0].step_rows, cases[i].shared * 4);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gradients_of_inputs_leave_first),
		cmocka_unit_test(the_order_changes_no_gradient),
		cmocka_unit_test(shared_products_wait_for_the_last_micro_batch),
		cmocka_unit_test(shared_products_change_no_gradient),
		cmocka_unit_test(as_many_share_a_product_as_make_it_large),
		cmocka_unit_test(memory_is_what_waits),
		cmocka_unit_test(micro_batches_are_kept_until_their_product),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
