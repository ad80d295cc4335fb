/*
 * A recorded step of every split: as many operations as the step has, each where it can be, on
 * every rank; and the figures that are made of them.
 */
#include "parallel_setups.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "suites/training/parallel/trainer/timeline.h"

static size_t spans_of(const struct case_result *c, int rank, const char *operation)
{
	size_t count = 0;

	for (size_t i = 0; i < c->timeline_count; i++)
		if (c->timeline[i].rank == rank && strcmp(c->timeline[i].operation, operation) == 0)
			count += c->timeline[i].span_count / 3;
	return count;
}

/* The end (or start) of span `index` of an operation on a rank; NaN: there is none. */
static double time_of(const struct case_result *c, int rank, const char *operation, double index,
		      bool end)
{
	for (size_t i = 0; i < c->timeline_count; i++)
		for (size_t k = 0; k < c->timeline[i].span_count; k += 3)
			if (c->timeline[i].rank == rank && c->timeline[i].spans[k] == index &&
			    strcmp(c->timeline[i].operation, operation) == 0)
				return c->timeline[i].spans[k + (end ? 2 : 1)];
	return NAN;
}

static enum status wrong(struct error *err, const char *what, int rank)
{
	return error_set(err, STATUS_INTERNAL, "%s, rank %d", what, rank);
}

static enum status expect_legal(const struct case_result *c, const struct timeline_totals *totals,
				int ranks, struct error *err)
{
	for (size_t i = 0; i < c->timeline_count; i++)
		for (size_t k = 0; k < c->timeline[i].span_count; k += 3) {
			const double *span = c->timeline[i].spans + k;

			if (!(span[1] >= 0 && span[2] >= span[1] &&
			      span[2] <= totals->step + span[1] + 1))
				return wrong(err, "a span out of time", c->timeline[i].rank);
		}
	for (int rank = 0; rank < ranks; rank++)
		if (!(totals->computing[rank] > 0 && totals->computing[rank] <= totals->step))
			return wrong(err, "no computing", rank);
	return STATUS_OK;
}

static enum status expect_pipeline(const struct setup *s, const struct case_result *c,
				   struct error *err)
{
	for (int rank = 0; rank < s->ranks; rank++) {
		size_t neighbours = (size_t)((rank > 0) + (rank + 1 < s->ranks));

		/*
		 * The first stage sends nothing back, and a naive split nothing before it is done.
		 */
		bool apart = rank > 0 && strcmp(s->mode->name, "layer_split") != 0;

		if (spans_of(c, rank, "forward") != s->microbatches ||
		    spans_of(c, rank, "weight_gradients") != (apart ? s->microbatches : 0) ||
		    spans_of(c, rank, "backward") != s->microbatches ||
		    spans_of(c, rank, "optimizer") != 1 ||
		    spans_of(c, rank, "send") != neighbours * s->microbatches ||
		    spans_of(c, rank, "receive") != neighbours * s->microbatches)
			return wrong(err, "operations are missing", rank);
	}
	/*
	 * Within a rank: each has its own zero, and a busy machine lets ranks begin milliseconds
	 * apart.
	 */
	for (double m = 0; m < (double)s->microbatches; m++)
		for (int rank = 0; rank < s->ranks; rank++)
			if (!(time_of(c, rank, "forward", m, true) <=
			      time_of(c, rank, "backward", m, false)))
				return wrong(err, "a backward before its forward", rank);
	return STATUS_OK;
}

static enum status expect_operations(const struct setup *s, const struct case_result *c,
				     struct error *err)
{
	if (strcmp(s->mode->name, "hybrid") != 0 && s->mode->microbatched)
		return expect_pipeline(s, c, err);
	for (int rank = 0; rank < s->ranks; rank++) {
		bool right = spans_of(c, rank, "forward") > 0 &&
			     spans_of(c, rank, "backward") > 0 &&
			     spans_of(c, rank, "optimizer") > 0;

		if (strcmp(s->mode->name, "ddp") == 0)
			right = right && spans_of(c, rank, "all_reduce") == s->layers &&
				spans_of(c, rank, "forward") == 1;
		if (strcmp(s->mode->name, "zero1") == 0 || strcmp(s->mode->name, "zero2") == 0)
			right = right && spans_of(c, rank, "reduce_scatter") == s->layers &&
				spans_of(c, rank, "all_gather") == s->layers;
		/* Backward gathers neither the last two layers, which are there, nor the first. */
		if (strcmp(s->mode->name, "zero3") == 0)
			right = right && spans_of(c, rank, "reduce_scatter") == s->layers &&
				spans_of(c, rank, "all_gather") == 2 * s->layers - 3;
		if (!right)
			return wrong(err, "operations are missing", rank);
	}
	return STATUS_OK;
}

static enum status expect_timeline(struct trainer *t, struct error *err)
{
	double computing[8];
	struct timeline_totals totals = { .computing = computing };
	struct case_result result;
	struct run run = { .result = &result };
	uint64_t sum;
	enum status status;

	case_result_init(&result);
	status = timeline_record(&run, t, &totals, err);
	/* Recording changes nothing about the step. */
	if (status == STATUS_OK)
		status = verify_replicas(t, &sum, err);
	if (status == STATUS_OK)
		status = expect_legal(&result, &totals, t->team->world->size, err);
	if (status == STATUS_OK)
		status = expect_operations(t->setup, &result, err);
	case_result_release(&result);
	return status;
}

static void every_split_has_a_timeline(void **state)
{
	(void)state;
	for (size_t m = 0; m < ARRAY_SIZE(split_names); m++) {
		struct setup setup = tiny(split_names[m], 2, PRECISION_FP32);

		setup.bucket_bytes = 1;
		if (setup.mode->microbatched)
			setup.microbatches = 4;
		assert_ranks(run_trainers(&setup, expect_timeline), 2, STATUS_OK, split_names[m]);
	}
}

/* Adding up, of a stream of its own, while the compute stream computes: seconds. */
static double side_by_side(const struct case_result *c, int rank)
{
	double sum = 0;

	for (size_t i = 0; i < c->timeline_count; i++) {
		const struct timeline_row *a = &c->timeline[i];

		if (a->rank != rank || strcmp(a->operation, "all_reduce") != 0)
			continue;
		for (size_t k = 0; k < c->timeline_count; k++) {
			const struct timeline_row *b = &c->timeline[k];

			if (b->rank != rank || strcmp(b->operation, "all_reduce") == 0)
				continue;
			for (size_t x = 0; x < a->span_count; x += 3)
				for (size_t y = 0; y < b->span_count; y += 3)
					sum += fmax(0,
						    fmin(a->spans[x + 2], b->spans[y + 2]) -
							    fmax(a->spans[x + 1], b->spans[y + 1]));
		}
	}
	return sum;
}

static enum status expect_turns(struct trainer *t, struct error *err)
{
	double computing[8];
	struct timeline_totals totals = { .computing = computing };
	struct case_result result;
	struct run run = { .result = &result };
	enum status status;

	case_result_init(&result);
	status = timeline_record(&run, t, &totals, err);
	for (int rank = 0; rank < t->team->world->size && status == STATUS_OK; rank++)
		if (spans_of(&result, rank, "all_reduce") == 0 || side_by_side(&result, rank) > 0)
			status = error_set(err, STATUS_INTERNAL,
					   "rank %d: %zu sums, %g s during computing", rank,
					   spans_of(&result, rank, "all_reduce"),
					   side_by_side(&result, rank));
	case_result_release(&result);
	return status;
}

static void without_overlap_all_comes_in_turn(void **state)
{
	static const char *const names[] = { "ddp", "tensor" };

	(void)state;
	for (size_t m = 0; m < ARRAY_SIZE(names); m++) {
		struct setup setup = tiny(names[m], 2, PRECISION_FP32);

		setup.bucket_bytes = 1;
		setup.no_overlap = true;
		setup_fit_mode(&setup);
		assert_ranks(run_trainers(&setup, expect_turns), 2, STATUS_OK, names[m]);
	}
}

static void a_grid_has_a_timeline(void **state)
{
	struct setup setup = tiny("hybrid", 4, PRECISION_FP32);

	(void)state;
	setup.grid = (struct grid){ 2, 2, 1 };
	setup.microbatches = 2;
	assert_ranks(run_trainers(&setup, expect_timeline), 4, STATUS_OK, "hybrid");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_split_has_a_timeline),
		cmocka_unit_test(without_overlap_all_comes_in_turn),
		cmocka_unit_test(a_grid_has_a_timeline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
