/*
 * Buckets of gradients in pieces: the first and the last one of large layers are reduced and
 * updated piece by piece, which changes neither what is reduced nor the parameters that come of it;
 * small layers stay whole.
 */
#include "parallel_setups.h"

#include <math.h>

#include "base/memory.h"
#include "suites/training/parallel/modes/data_parallel.h"
#include "suites/training/parallel/trainer/timeline.h"

/* The ends are large, the inside is not. */
static struct setup wide(int ranks, enum precision precision, uint64_t pieces)
{
	static const uint64_t widths[] = { 40, 256, 24, 33, 64, 256 };
	struct setup s = tiny("ddp", ranks, precision);

	memcpy(s.widths, widths, sizeof(widths));
	s.bucket_bytes = 40 * 256 * precision_bytes(precision) / pieces;
	s.rate = setup_safe_rate(&s);
	return s;
}

static size_t cut_buckets(const struct setup *s, struct bucket *whole, size_t *count,
			  struct bucket *pieces)
{
	struct model model;

	model_init(&model, s);
	*count = data_parallel_buckets_make(s, &model, whole);
	memcpy(pieces, whole, *count * sizeof(*whole));
	return data_parallel_buckets_cut(s, &model, pieces, *count);
}

/*
 * In their order, without gap or overlap, aligned; each with what is complete then, and large
 * enough.
 */
static void expect_pieces(const struct setup *s, size_t made, const struct bucket *pieces)
{
	uint64_t first = 0, outputs = 0;
	struct model model;

	model_init(&model, s);
	for (size_t i = 0; i < made; i++) {
		const struct bucket *p = &pieces[i];
		const struct model_layer *layer = &model.layer[p->layer];
		bool whole = p->outputs == layer->out;
		uint64_t rows = p->outputs - outputs;

		assert_int_equal(p->first, first);
		assert_int_equal(p->first % MODEL_ALIGN, 0);
		assert_true(p->outputs > outputs);
		first += p->count;
		assert_int_equal(first,
				 whole ? layer->end : layer->weight + p->outputs * layer->in);
		if (rows < layer->out)
			assert_true((rows + MODEL_ALIGN) * layer->in *
					    precision_bytes(s->precision) >
				    s->bucket_bytes);
		outputs = whole ? 0 : p->outputs;
	}
	assert_int_equal(first, model.elements);
}

static void pieces_are_all_of_a_bucket(void **state)
{
	static const uint64_t sizes[] = { 0, 1, 900, 5000, 14000, 20000, 41000, 1 << 30 };
	struct bucket whole[SETUP_MAX_LAYERS], pieces[BUCKETS_SPLIT_MAX];
	size_t count, made;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		for (uint64_t out = 10; out < 600; out += 97) {
			struct setup s = wide(2, PRECISION_FP32, 1);

			s.widths[1] = out;
			s.widths[s.layers] = 600 - out;
			s.bucket_bytes = sizes[i];
			made = cut_buckets(&s, whole, &count, pieces);
			expect_pieces(&s, made, pieces);
		}
}

static void only_large_ends_are_cut(void **state)
{
	struct bucket whole[SETUP_MAX_LAYERS], pieces[BUCKETS_SPLIT_MAX];
	struct setup s = wide(2, PRECISION_FP32, 1);
	size_t count, made, most = 2 * (BUCKET_PIECES - 1);

	(void)state;
	/* The first layer is as large as a bucket, the last one larger, but not twice as large. */
	made = cut_buckets(&s, whole, &count, pieces);
	assert_int_equal(made, count);
	s = wide(2, PRECISION_FP32, 4);
	made = cut_buckets(&s, whole, &count, pieces);
	assert_int_equal(made, count + most);
	/* However small the buckets are; and each layer's has its place. */
	s.bucket_bytes = 1;
	made = cut_buckets(&s, whole, &count, pieces);
	assert_int_equal(count, s.layers);
	assert_int_equal(made, s.layers + most);
	s.layers = SETUP_MAX_LAYERS;
	for (size_t l = 0; l <= s.layers; l++)
		s.widths[l] = 512;
	made = cut_buckets(&s, whole, &count, pieces);
	assert_int_equal(made, BUCKETS_SPLIT_MAX);
}

static void pieces_change_nothing(void **state)
{
	static const enum precision precisions[] = { PRECISION_FP64, PRECISION_FP32, PRECISION_FP16,
						     PRECISION_BF16 };

	(void)state;
	for (size_t p = 0; p < ARRAY_SIZE(precisions); p++)
		for (uint64_t pieces = 1; pieces <= 4; pieces++) {
			struct setup s = wide(pieces % 2 ? 2 : 3, precisions[p], pieces);

			s.batch = 96;
			s.accumulate = pieces == 3 ? 4 : 1;
			s.segments = pieces == 3 ? 2 : 0;
			s.weight_gradient = pieces == 2 ? WGRAD_TRANSPOSED : WGRAD_DIRECT;
			s.dynamic_scale = s.precision == PRECISION_FP16 && pieces == 4;
			s.optimizer = pieces == 1 ? OPTIMIZER_MOMENTUM : OPTIMIZER_ADAM;
			s.momentum = pieces == 1 ? 0.9 : 0;
			assert_ranks(run_ranks(s.ranks, run_reference, &s), s.ranks, STATUS_OK,
				     "pieces");
		}
}

/* Start or end of the span of a piece on one rank. */
static double time_of(const struct case_result *c, int rank, const char *operation, size_t piece,
		      bool end)
{
	for (size_t i = 0; i < c->timeline_count; i++)
		for (size_t k = 0; k < c->timeline[i].span_count; k += 3)
			if (c->timeline[i].rank == rank &&
			    c->timeline[i].spans[k] == (double)piece &&
			    strcmp(c->timeline[i].operation, operation) == 0)
				return c->timeline[i].spans[k + (end ? 2 : 1)];
	return NAN;
}

static enum status expect_order(const struct case_result *c, int ranks, size_t pieces,
				struct error *err)
{
	for (int rank = 0; rank < ranks; rank++)
		for (size_t i = 0; i < pieces; i++)
			if (!(time_of(c, rank, "all_reduce", i, true) <=
			      time_of(c, rank, "optimizer", i, false)))
				return error_set(err, STATUS_INTERNAL,
						 "rank %d: piece %zu reduced from %g to %g s, "
						 "updated from %g s",
						 rank, i, time_of(c, rank, "all_reduce", i, false),
						 time_of(c, rank, "all_reduce", i, true),
						 time_of(c, rank, "optimizer", i, false));
	return STATUS_OK;
}

static enum status expect_timeline(struct trainer *t, struct error *err)
{
	struct bucket whole[SETUP_MAX_LAYERS], pieces[BUCKETS_SPLIT_MAX];
	double computing[8];
	struct timeline_totals totals = { .computing = computing };
	struct case_result result;
	struct run run = { .result = &result };
	size_t count;
	enum status status;

	case_result_init(&result);
	status = timeline_record(&run, t, &totals, err);
	if (status == STATUS_OK)
		status = expect_order(&result, t->team->world->size,
				      cut_buckets(t->setup, whole, &count, pieces), err);
	case_result_release(&result);
	return status;
}

static void each_piece_is_reduced_and_then_updated(void **state)
{
	struct setup s = wide(2, PRECISION_FP32, 4);

	(void)state;
	assert_ranks(run_trainers(&s, expect_timeline), 2, STATUS_OK, "timeline");
}

/*
 * As on a device with its own memory: trying whole steps leaves fresh data and a choice that all
 * ranks share.
 */
static enum status run_tried(struct device *device, struct world *world, void *context,
			     struct error *err)
{
	const struct setup *setup = context;
	struct trainer t = { 0 };
	struct rank_team team;
	uint64_t sum;
	int narrow;
	enum status status = rank_team_open(&team, device, world, err);

	device->info.capabilities &= ~(unsigned)DEVICE_SHARES_HOST_MEMORY;
	device->info.multiprocessors = 1;
	if (status == STATUS_OK)
		status = trainer_open(&t, setup, &team, err);
	narrow = (int)world_sum(world, t.network.narrow_updates);
	if (status == STATUS_OK && (t.network.updates != 0 || narrow % world->size != 0))
		status = error_set(err, STATUS_INTERNAL, "%llu updates, %d ranks of %d narrow",
				   (unsigned long long)t.network.updates, narrow, world->size);
	if (world_agree(world, status, err) == STATUS_OK)
		status = trainer_step(&t, STEP_ALL, err);
	if (status == STATUS_OK)
		status = verify_replicas(&t, &sum, err);
	trainer_close(&t);
	rank_team_close(&team);
	return status;
}

static void trying_steps_leaves_no_trace(void **state)
{
	struct setup s = tiny("ddp", 2, PRECISION_FP32);

	(void)state;
	s.layers = 2;
	s.widths[0] = s.widths[1] = 4096;
	s.widths[2] = 64;
	s.batch = 4;
	s.bucket_bytes = 1 << 20;
	s.weight_gradient = WGRAD_DIRECT;
	assert_ranks(run_ranks(2, run_tried, &s), 2, STATUS_OK, "tried");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_are_all_of_a_bucket),
		cmocka_unit_test(only_large_ends_are_cut),
		cmocka_unit_test(pieces_change_nothing),
		cmocka_unit_test(each_piece_is_reduced_and_then_updated),
		cmocka_unit_test(trying_steps_leaves_no_trace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
