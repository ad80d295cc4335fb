/*
 * How the products of the suite `parallel` are chosen: fused or not, by search or by the library.
 */
#include "device/autotune.h"
#include "closings.h"
#include "parallel_setups.h"
#include "suites/training/models/gemm/layer.h"
#include "suites/training/parallel/ranks/connection_cache.h"

static const enum precision precisions[] = { PRECISION_FP64, PRECISION_FP32, PRECISION_FP16,
					     PRECISION_BF16 };

static void fused_products_change_nothing(void **state)
{
	(void)state;
	for (size_t p = 0; p < sizeof(precisions) / sizeof(precisions[0]); p++)
		for (enum fusion fusion = FUSION_OFF; fusion < FUSION_COUNT; fusion++) {
			struct setup single = tiny("single", 1, precisions[p]),
				     tensor = tiny("tensor", 2, precisions[p]);

			single.fusion = tensor.fusion = fusion;
			assert_ranks(run_ranks(1, run_reference, &single), 1, STATUS_OK,
				     fusion == FUSION_ON ? "on" : "off");
			assert_ranks(run_ranks(2, run_reference, &tensor), 2, STATUS_OK,
				     fusion == FUSION_ON ? "on" : "off");
		}
}

/* A device whose library has something to choose from, and remembers what was asked. */
static const struct backend *sound;
static struct gemm asked[64];
static size_t asked_count, used_searched;
static double choice_seconds;

static bool same_product(const struct gemm *a, const struct gemm *b)
{
	return a->m == b->m && a->n == b->n && a->k == b->k && a->transpose_a == b->transpose_a &&
	       a->transpose_b == b->transpose_b && a->epilogue == b->epilogue &&
	       (a->beta != 0) == (b->beta != 0);
}

static enum status search(struct stream *stream, const struct gemm *gemm,
			  const struct autotune_rules *rules, struct gemm_choice *out,
			  struct error *err)
{
	(void)stream;
	if (rules->seconds <= 0)
		return error_set(err, STATUS_INTERNAL, "searched for no time");
	if (rules->sustained != (rules->seconds >= AUTOTUNE_SUSTAINED_SECONDS))
		return error_set(err, STATUS_INTERNAL,
				 "a long search is under load, a short one is not");
	for (size_t i = 0; i < asked_count; i++)
		if (same_product(&asked[i], gemm) && (uintptr_t)gemm->a % 16 == 0 &&
		    (uintptr_t)asked[i].a % 16 == 0 && (uintptr_t)gemm->b % 16 == 0 &&
		    (uintptr_t)asked[i].b % 16 == 0 && (uintptr_t)gemm->c % 16 == 0 &&
		    (uintptr_t)asked[i].c % 16 == 0)
			return error_set(err, STATUS_INTERNAL, "searched twice");
	asked[asked_count++] = *gemm;
	*out = (struct gemm_choice){ .seconds = choice_seconds, .first_seconds = 1 };
	return STATUS_OK;
}

static enum status multiply(struct stream *stream, const struct gemm *gemm, struct error *err)
{
	struct gemm plain = *gemm;
	bool known = false;

	for (size_t i = 0; i < asked_count; i++)
		known |= same_product(&asked[i], gemm);
	if (gemm->searched && !known)
		return error_set(err, STATUS_INTERNAL, "a product that was never searched");
	used_searched += gemm->searched;
	plain.searched = false;
	return sound->gemm(stream, &plain, err);
}

static enum status run_with_choice(struct device *device, struct world *world, void *context,
				   struct error *err)
{
	const struct setup *setup = context;
	static struct backend choosy;
	enum status status;

	sound = device->backend;
	choosy = *sound;
	choosy.gemm = multiply;
	choosy.gemm_search = search;
	device->backend = &choosy;
	asked_count = used_searched = 0;
	status = run_reference(device, world, (void *)setup, err);
	if (status != STATUS_OK)
		return status;
	if (setup->search_seconds == 0 && asked_count > 0)
		return error_set(err, STATUS_INTERNAL, "searched all the same");
	if (setup->search_seconds > 0 && asked_count == 0)
		return error_set(err, STATUS_INTERNAL, "searched nothing");
	if ((choice_seconds < 0.9 && setup->search_seconds > 0) != (used_searched > 0))
		return error_set(err, STATUS_INTERNAL, "%zu products by search", used_searched);
	return STATUS_OK;
}

static void products_are_searched_once_and_used_when_faster(void **state)
{
	static const double seconds[] = { 0.5, 0.99 };

	(void)state;
	for (size_t m = 0; m <= sizeof(split_names) / sizeof(split_names[0]); m++)
		for (size_t i = 0; i < 2; i++) {
			struct setup setup = m ? tiny(split_names[m - 1], 2, PRECISION_FP64)
					       : tiny("single", 1, PRECISION_FP64);

			setup.microbatches = setup.mode->microbatched ? 4 : 1;
			setup.search_seconds = 0.001;
			choice_seconds = seconds[i];
			assert_ranks(run_ranks(setup.ranks, run_with_choice, &setup), setup.ranks,
				     STATUS_OK, setup.mode->name);
		}
}

/* Cases one after the other, as the worker carries them out. */
static enum status run_kept(struct device *device, struct world *world, void *context,
			    struct error *err)
{
	const struct setup *setup = context;
	struct connection_cache *cache = connection_cache_open();
	static struct backend choosy;
	size_t first_asked = 0, asked_by_now[4];
	struct stream *compute = NULL;
	struct verify_check check;

	sound = device->backend;
	choosy = *sound;
	choosy.gemm = multiply;
	choosy.gemm_search = search;
	device->backend = &choosy;
	asked_count = used_searched = 0;
	for (size_t i = 0; i < 4; i++) {
		struct setup own = *setup;
		struct rank_team team;

		/* The third asks for a longer search, the last finds nothing that was kept. */
		own.search_seconds *= i == 2 ? 2 : 1;
		if (i == 2 || i == 3)
			asked_count = 0;
		if (i == 3)
			connection_cache_clear(cache);
		if (connection_cache_team_open(cache, &team, device, world, TRANSPORT_AUTO, 0,
					       err) != STATUS_OK)
			return err->status;
		if (i == 1 && team.streams[STREAM_COMPUTE] != compute)
			return error_set(err, STATUS_INTERNAL, "another stream");
		compute = team.streams[STREAM_COMPUTE];
		if (verify_reference(&own, &team, &check, err) != STATUS_OK)
			return err->status;
		connection_cache_keep_team(cache, &team);
		asked_by_now[i] = asked_count;
		first_asked = i == 0 ? asked_count : first_asked;
	}
	connection_cache_close(cache);
	if (first_asked == 0 || used_searched == 0)
		return error_set(err, STATUS_INTERNAL, "searched nothing");
	if (asked_by_now[1] != first_asked || asked_by_now[2] != first_asked ||
	    asked_by_now[3] != first_asked)
		return error_set(err, STATUS_INTERNAL, "asked %zu, %zu, %zu, %zu times",
				 first_asked, asked_by_now[1], asked_by_now[2], asked_by_now[3]);
	return STATUS_OK;
}

static void a_case_remembers_what_the_one_before_searched(void **state)
{
	static const char *const names[] = { "single", "ddp", "layer_split" };

	(void)state;
	for (size_t m = 0; m < sizeof(names) / sizeof(names[0]); m++) {
		struct setup setup = tiny(names[m], m ? 2 : 1, PRECISION_FP64);

		/* The third search, twice as long, is one under load. */
		setup.search_seconds = 0.3;
		choice_seconds = 0.5;
		assert_ranks(run_ranks(setup.ranks, run_kept, &setup), setup.ranks, STATUS_OK,
			     names[m]);
	}
}

static struct world *small_world;

static enum status one_case(struct connection_cache *cache, struct device *device,
			    struct world *world, bool fails, struct error *err)
{
	struct setup setup = tiny("ddp", world->size, PRECISION_FP32);
	struct verify_check check;
	struct rank_team team;

	setup.batch = 60;
	if (connection_cache_team_open(cache, &team, device, world, TRANSPORT_AUTO, 0, err) !=
		    STATUS_OK ||
	    verify_reference(&setup, &team, &check, err) != STATUS_OK)
		return err->status;
	if (fails)
		connection_cache_evict_team(cache, &team, world);
	else
		connection_cache_keep_team(cache, &team);
	return STATUS_OK;
}

/* Ranks 0 and 1 are in cases of two devices as well, and one of these fails. */
static enum status run_in_two_worlds(struct device *device, struct world *world, void *context,
				     struct error *err)
{
	static const struct {
		bool of_all, fails;
	} cases[] = { { true, false }, { false, false }, { false, true },  { false, false },
		      { true, false }, { true, true },   { false, false }, { true, false } };
	struct connection_cache *cache = connection_cache_open();
	struct world pair = *small_world;

	(void)context;
	closings_watch(device);
	pair.rank = world->rank;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if ((cases[i].of_all || world->rank < 2) &&
		    one_case(cache, device, cases[i].of_all ? world : &pair, cases[i].fails, err) !=
			    STATUS_OK)
			return err->status;
	connection_cache_close(cache);
	closings_unwatch(device);
	return STATUS_OK;
}

static void ranks_close_communicators_together_also_after_failures(void **state)
{
	struct error err = ERROR_NONE;
	struct world pair;

	(void)state;
	closings_begin();
	assert_int_equal(world_create(&pair, 2, &err), STATUS_OK);
	small_world = &pair;
	assert_ranks(run_ranks(3, run_in_two_worlds, NULL), 3, STATUS_OK, "two worlds");
	assert_int_equal(closings->alone, 0);
	/* Closed and opened anew: by the failure of the pair, by that of all, and in the end. */
	assert_int_equal(closings->came[3], 3 * 3);
	assert_int_equal(closings->came[2], 2 * 3);
	world_release(&pair);
	closings_end();
}

static void no_time_no_search(void **state)
{
	struct setup setup = tiny("single", 1, PRECISION_FP32);

	(void)state;
	choice_seconds = 0.5;
	assert_ranks(run_ranks(1, run_with_choice, &setup), 1, STATUS_OK, "no search");
}

static void limits_of_collectives(void **state)
{
	struct setup pipeline = tiny("1f1b", 2, PRECISION_FP32),
		     ddp = tiny("ddp", 2, PRECISION_FP32),
		     single = tiny("single", 1, PRECISION_FP32);

	(void)state;
	pipeline.collective_multiprocessors = ddp.collective_multiprocessors =
		single.collective_multiprocessors = -1;
	assert_int_equal(setup_collective_multiprocessors(&pipeline, 132), 8);
	assert_int_equal(setup_collective_multiprocessors(&pipeline, 13), 0);
	assert_int_equal(setup_collective_multiprocessors(&ddp, 132), 0);
	ddp.collective_multiprocessors = single.collective_multiprocessors = 24;
	assert_int_equal(setup_collective_multiprocessors(&ddp, 132), 24);
	assert_int_equal(setup_collective_multiprocessors(&single, 132), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fused_products_change_nothing),
		cmocka_unit_test(products_are_searched_once_and_used_when_faster),
		cmocka_unit_test(a_case_remembers_what_the_one_before_searched),
		cmocka_unit_test(ranks_close_communicators_together_also_after_failures),
		cmocka_unit_test(no_time_no_search),
		cmocka_unit_test(limits_of_collectives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
