/* Promises of the transfer suite for each direction, engine and state: see suite_fixture.h. */
#include "suite_fixture.h"

#include "kernels/memory/chase.h"
#include "kernels/memory/copy.h"
#include "suites/shared/buffers.h"
#include "suites/transfer/direction.h"
#include "suites/transfer/lane.h"

#define QUICK                                                                           \
	"[defaults]\nmin_samples = 3\nmax_samples = 4\nmax_time = 20ms\nsample_time = " \
	"20us\nwarmup = 1\n"
#define EVERY                                                                                   \
	"directions = h2d, d2h, both, local, p2p, p2p_both, p2p_read, p2p_read_both, h2d_all, " \
	"d2h_all, both_all, host_to_all, all_to_host, host_to_all_both, all_to_host_both, "     \
	"all_to_one_write, all_to_one_read, one_to_all_write, one_to_all_read, latency_host, "  \
	"latency_p2p, latency_local, p2p_pairs\n"

static bool has_case(const struct fixture *f, const char *id)
{
	for (size_t i = 0; i < f->plan.case_count; i++)
		if (strcmp(f->plan.cases[i].id, id) == 0)
			return true;
	return false;
}

static bool planned(struct fixture *f, const char *ini, const char *id)
{
	bool found;

	plan_from(f, ini, f->infos, FIXTURE_DEVICES);
	found = has_case(f, id);
	plan_done(f);
	return found;
}

static double metric_of(const struct case_result *result, const char *name)
{
	const struct metric_value *metric = case_metric(result, name);

	if (!metric)
		fail_msg("no metric %s", name);
	return metric->value;
}

static bool is_latency(const struct plan_case *c)
{
	return strncmp(c->id, "transfer/latency", 16) == 0;
}

/* Its headline, verified, everything given back, and no more device memory than it said. */
static void check_case(struct fixture *f, const struct plan_case *c)
{
	struct case_result result;
	struct error err = ERROR_NONE;
	enum status status;

	memset(spy.device_peak, 0, sizeof(spy.device_peak));
	status = run_case(f, c, &result, &err);
	/* Page-locked memory may be refused by the machine's limits; then the reason says so. */
	if (status == STATUS_UNSUPPORTED && strstr(err.message, "RLIMIT_MEMLOCK")) {
		case_result_release(&result);
		return;
	}
	if (status != STATUS_OK)
		fail_msg("%s: %s", c->id, err.message);
	assert_true(metric_of(&result, is_latency(c) ? "transfer.latency" : "transfer.bandwidth") >
		    0);
	assert_true(result.verification.done);
	assert_nothing_open(c->id);
	for (int i = 0; i < FIXTURE_DEVICES; i++)
		if (spy.device_peak[i] > c->device_bytes)
			fail_msg("%s used %llu bytes of device memory and said %llu", c->id,
				 (unsigned long long)spy.device_peak[i],
				 (unsigned long long)c->device_bytes);
	case_result_release(&result);
}

static void test_every_direction_runs(void **state)
{
	struct fixture *f = *state;
	size_t cases = 0;

	plan_from(f,
		  QUICK "[suite transfer]\n" EVERY
			"engines = ce, sm\nmemories = registered, pageable\naccess = on\n"
			"sizes = 1000B, 100KiB\n",
		  f->infos, FIXTURE_DEVICES);
	for (; cases < f->plan.case_count; cases++)
		check_case(f, &f->plan.cases[cases]);
	assert_true(cases > 130);
	plan_done(f);
}

/* No block is met again while it could be in a cache. */
static void test_cold_blocks_are_many(void **state)
{
	struct fixture *f = *state;
	struct case_result result;
	struct error err;

	assert_int_equal(run_only_case(f,
				       QUICK "[suite transfer]\ndirections = h2d\nmemories = "
					     "pageable\nstates = cold\nsizes = 64KiB\n",
				       &result, &err),
			 STATUS_OK);
	assert_non_null(strstr(result.notes, "Copies rotate over "));
	assert_true(strtod(result.notes + strlen("Copies rotate over "), NULL) * 65536 >=
		    2.0 * (double)buffer_cache_bytes(&f->infos[0]));
	case_result_release(&result);
	assert_nothing_open("cold");
}

/* Small blocks cannot be as many as it takes: they are checked one by one, or would be too many. */
static void test_what_stays_in_a_cache_is_said(void **state)
{
	struct case_result result;
	struct error err;

	assert_int_equal(run_only_case(*state,
				       QUICK "[suite transfer]\ndirections = h2d\nmemories = "
					     "pageable\nstates = cold\nsizes = 100B\n",
				       &result, &err),
			 STATUS_OK);
	assert_non_null(strstr(result.notes,
			       "Copies rotate over 64 buffers, but all of them fit in a cache"));
	assert_null(strstr(result.notes, "launch"));
	case_result_release(&result);
	assert_int_equal(run_only_case(*state,
				       QUICK "[suite transfer]\ndirections = local\nengines = "
					     "sm\nsizes = 100B\n",
				       &result, &err),
			 STATUS_OK);
	assert_non_null(strstr(result.notes, "The kernel is launched once per copy"));
	case_result_release(&result);
	assert_nothing_open("cold");
}

/* Older results compare: what there was before an axis came has the id it had. */
static void test_the_usual_is_not_in_the_id(void **state)
{
	static const char ini[] =
		"[suite transfer]\nengines = sm, ce\nstates = cold, warm\nsizes = 4KiB\n";

	assert_true(planned(*state, ini, "transfer/h2d/pinned/4KiB@host:0"));
	assert_true(planned(*state, ini, "transfer/p2p/on/4KiB@host:0,host:1"));
	assert_true(planned(*state, ini, "transfer/local/4KiB@host:0"));
	assert_true(planned(*state, ini, "transfer/h2d/sm/pinned/4KiB@host:0"));
	assert_true(planned(*state, ini, "transfer/h2d/sm/pinned/cold/4KiB@host:0"));
	assert_true(planned(*state, ini, "transfer/d2h/pageable/cold/4KiB@host:1"));
	assert_true(planned(*state, ini, "transfer/local/sm/4KiB@host:0"));
	/* Within a device the data are never in a cache: there is one state. */
	assert_false(planned(*state, ini, "transfer/local/cold/4KiB@host:0"));
}

static void test_kernels_reach_what_they_can(void **state)
{
	static const char ini[] = "[suite transfer]\nengines = sm\n" EVERY "sizes = 4KiB\n";

	assert_true(planned(*state, ini, "transfer/h2d/sm/pinned/4KiB@host:0"));
	assert_false(planned(*state, ini, "transfer/h2d/sm/pageable/4KiB@host:0"));
	assert_false(planned(*state, ini, "transfer/latency_host/pageable/4KiB@host:0"));
	assert_true(planned(*state, ini, "transfer/p2p_read/sm/on/4KiB@host:1,host:0"));
	assert_false(planned(*state, ini, "transfer/p2p_read/sm/off/4KiB@host:1,host:0"));
	/* A load has no engine. */
	assert_true(planned(*state, ini, "transfer/latency_p2p/4KiB@host:1,host:0"));
}

/* One device has nothing to be all of. */
static void test_all_needs_several(void **state)
{
	struct fixture *f = *state;

	plan_from(f, "[suite transfer]\n" EVERY "sizes = 4KiB\n", f->infos, 1);
	for (size_t i = 0; i < f->plan.case_count; i++)
		if (f->plan.cases[i].device_count != 1)
			fail_msg("%s", f->plan.cases[i].id);
	assert_true(has_case(f, "transfer/latency_local/4KiB@host:0"));
	assert_false(has_case(f, "transfer/h2d_all/pinned/4KiB@host:0"));
	plan_done(f);
}

static void assert_route(enum direction direction, size_t devices, size_t index, int from, int to,
			 int issuer)
{
	struct route routes[ROUTES_MOST(8)];
	size_t count = direction_routes(direction, devices, routes);

	assert_true(index < count);
	if (routes[index].from != from || routes[index].to != to || routes[index].issuer != issuer)
		fail_msg("%s, route %zu: %d to %d by %d", direction_names[direction], index,
			 routes[index].from, routes[index].to, routes[index].issuer);
}

/* The issuer of a copy is what tells a read from a write. */
static void test_routes(void **state)
{
	struct route routes[ROUTES_MOST(100)];

	(void)state;
	assert_route(P2P, 2, 0, 0, 1, 0);
	assert_route(P2P_READ, 2, 0, 1, 0, 0);
	assert_route(P2P_BOTH, 2, 1, 1, 0, 1);
	assert_route(P2P_READ_BOTH, 2, 1, 0, 1, 1);
	assert_route(ALL_TO_ONE_WRITE, 4, 2, 3, 0, 3);
	assert_route(ALL_TO_ONE_READ, 4, 0, 0, 1, 1);
	assert_route(ONE_TO_ALL_WRITE, 4, 0, 0, 1, 0);
	assert_route(ONE_TO_ALL_READ, 4, 2, 3, 0, 0);
	assert_route(HOST_TO_ALL, 4, 0, ROUTE_HOST, 0, 0);
	assert_route(ALL_TO_HOST, 4, 3, 3, ROUTE_HOST, 3);
	assert_route(HOST_TO_ALL_BOTH, 4, 0, ROUTE_HOST, 0, 0);
	assert_route(ALL_TO_HOST_BOTH, 4, 0, 0, ROUTE_HOST, 0);
	assert_route(ALL_TO_HOST_BOTH, 4, 1, ROUTE_HOST, 0, 0);
	assert_int_equal(direction_routes(ALL_TO_ONE_READ, 8, routes), 7);
	assert_int_equal(direction_routes(HOST_TO_ALL, 8, routes), 8);
	assert_int_equal(direction_routes(BOTH_ALL, 100, routes), ROUTES_MOST(100));
	assert_int_equal(direction_routes(LATENCY_HOST, 1, routes), 1);
	/* Every name has a meaning. */
	for (int d = 0; d < DIRECTION_COUNT; d++)
		assert_non_null(direction_names[d]);
}

/* Each two meet once, no device twice in a round; of five one sits out. */
static void assert_rounds(struct fixture *f, size_t count, size_t rounds, size_t pairs)
{
	struct device_info infos[8];
	bool met[8][8] = { { false } };

	for (size_t i = 0; i < count; i++) {
		infos[i] = f->infos[0];
		infos[i].index = (int)i;
		infos[i].peers.words[0] = 0xff;
		snprintf(infos[i].id, sizeof(infos[i].id), "host:%zu", i);
	}
	plan_from(f, "[suite transfer]\ndirections = p2p_pairs\nsizes = 4KiB\n", infos, count);
	assert_int_equal(f->plan.case_count, rounds);
	for (size_t r = 0; r < rounds; r++) {
		const struct plan_case *c = &f->plan.cases[r];
		unsigned busy = 0;

		assert_int_equal(c->device_count, 2 * pairs);
		for (size_t k = 0; k < c->device_count; k += 2) {
			size_t a = c->devices[k], b = c->devices[k + 1];

			assert_false(met[a][b] || a >= b || (busy >> a & 1) || (busy >> b & 1));
			met[a][b] = true;
			busy |= 1u << a | 1u << b;
		}
	}
	plan_done(f);
}

static void test_rounds_meet_once(void **state)
{
	assert_rounds(*state, 3, 0, 0);
	assert_rounds(*state, 4, 3, 2);
	assert_rounds(*state, 5, 5, 2);
	assert_rounds(*state, 8, 7, 4);
}

/* Together: the sum is the parts, and one round has all bytes. */
static void test_together_adds_up(void **state)
{
	struct case_result result;
	struct error err;

	assert_int_equal(run_only_case(*state,
				       QUICK "[suite transfer]\ndirections = both_all\nmemories = "
					     "registered\nsizes = 4KiB\n",
				       &result, &err),
			 STATUS_OK);
	assert_true(fabs(metric_of(&result, "transfer.bandwidth") /
				 metric_of(&result, "transfer.bandwidth_each") -
			 4) < 1e-9);
	assert_true(fabs(metric_of(&result, "transfer.bandwidth") *
				 metric_of(&result, "transfer.time") / (4 * 4096) -
			 1) < 1e-9);
	case_result_release(&result);
}

/* A wrong byte makes the pair corrupt and says which way it went. */
static void test_corrupt_names_the_way(void **state)
{
	struct case_result result;
	struct error err;

	spy.spoil_copy = 4; /* the first of those that are timed; three are checked before */
	spy.spoil_bytes = 6000;
	assert_int_equal(run_only_case(*state,
				       QUICK "[suite transfer]\ndirections = p2p_read\naccess = "
					     "on\nsizes = 6000B\n",
				       &result, &err),
			 STATUS_MISMATCH);
	if (strncmp(err.message, "corrupt: after timing, host:1 to host:0: wrong data at byte 3000",
		    63) != 0)
		fail_msg("%s", err.message);
	/* Measured pairs are kept. */
	assert_true(metric_of(&result, "transfer.bandwidth") > 0);
	case_result_release(&result);
	assert_nothing_open("corrupt");
}

static int kernel_launches, spoil_launch;

/* The kernel that misses the last byte, or the last hop. */
static enum status short_copy(struct stream *stream, const void *arguments, struct error *err)
{
	struct copy_arguments a = *(const struct copy_arguments *)arguments;

	if (++kernel_launches >= spoil_launch)
		a.bytes--;
	return spy.real->kernel("copy")(stream, &a, err);
}

static enum status short_chase(struct stream *stream, const void *arguments, struct error *err)
{
	struct chase_arguments a = *(const struct chase_arguments *)arguments;

	if (++kernel_launches >= spoil_launch)
		a.hops--;
	return spy.real->kernel("chase")(stream, &a, err);
}

static kernel_fn *short_kernels(const char *name)
{
	if (strcmp(name, "copy") == 0)
		return short_copy;
	return strcmp(name, "chase") == 0 ? short_chase : spy.real->kernel(name);
}

static void assert_short_found(struct fixture *f, const char *ini, int launch, const char *message)
{
	struct case_result result;
	struct error err;

	spy.table.kernel = short_kernels;
	kernel_launches = 0;
	spoil_launch = launch;
	assert_int_equal(run_only_case(f, ini, &result, &err), STATUS_MISMATCH);
	if (!strstr(err.message, message))
		fail_msg("%s", err.message);
	case_result_release(&result);
	assert_nothing_open(ini);
}

static void test_short_kernels_are_found(void **state)
{
	static const char copy[] = QUICK "[suite transfer]\ndirections = d2h\nengines = "
					 "sm\nmemories = registered\nsizes = 4KiB\n";
	static const char chase[] =
		QUICK "[suite transfer]\ndirections = latency_p2p\nsizes = 64KiB\n";

	assert_short_found(*state, copy, 1, "corrupt: before timing, host:0 to host");
	assert_short_found(*state, copy, 2, "corrupt: after timing, host:0 to host");
	assert_short_found(*state, chase, 1, "corrupt: before timing: after 2053 hops");
	assert_short_found(*state, chase, 2, "corrupt: after timing: after ");
}

static enum status idle_chase(struct stream *stream, const void *arguments, struct error *err)
{
	(void)stream;
	(void)arguments;
	(void)err;
	return STATUS_OK;
}

static kernel_fn *idle_kernels(const char *name)
{
	return strcmp(name, "chase") == 0 ? idle_chase : spy.real->kernel(name);
}

/*
 * Memory of a power of two has a way of as many nodes: whole rounds of it would end where nothing
 * has begun.
 */
static void test_a_way_that_is_not_walked_is_found(void **state)
{
	static const char *const sizes[] = { "256B", "4KiB", "64KiB", "256KiB", "1MiB" };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		char ini[256];
		struct case_result result;
		struct error err;

		snprintf(ini, sizeof(ini),
			 QUICK "[suite transfer]\ndirections = latency_local\nsizes = %s\n",
			 sizes[i]);
		spy_reset();
		spy.table.kernel = idle_kernels;
		assert_int_equal(run_only_case(*state, ini, &result, &err), STATUS_MISMATCH);
		assert_non_null(strstr(err.message, "corrupt: before timing"));
		case_result_release(&result);
		assert_nothing_open(sizes[i]);
	}
}

#define PEERED 5
#define MOST_PEERS 2

static bool peers[PEERED][PEERED];

/* As GPUs without a switch: few peers at a time. */
static enum status few_peers(struct device *device, struct device *peer, bool enable,
			     struct error *err)
{
	bool *mine = peers[device->info.index];
	int count = 0;

	for (int i = 0; i < PEERED; i++)
		count += mine[i];
	if (enable && !mine[peer->info.index] && count == MOST_PEERS)
		return error_set(err, STATUS_UNSUPPORTED, "too many peers");
	mine[peer->info.index] = enable;
	return STATUS_OK;
}

/*
 * Buffers of earlier cases make room; this case's stay, and one too many is not taken for there.
 */
static void test_few_peers_at_a_time(void **state)
{
	static const struct backend backend = { .name = "few", .peer_access = few_peers };
	struct access access = { 0 };
	struct device devices[PEERED];
	struct error err = ERROR_NONE;

	(void)state;
	memset(peers, 0, sizeof(peers));
	for (int i = 0; i < PEERED; i++)
		devices[i] = (struct device){ &backend, { .index = i } };
	for (int i = 0; i < PEERED; i++)
		for (int j = 0; j < PEERED; j++) {
			if (i == j)
				continue;
			access.turn++;
			assert_int_equal(transfer_lane_access_set(&access, &devices[i], &devices[j],
								  true, &err),
					 STATUS_OK);
			assert_true(peers[i][j] && peers[j][i]);
		}
	access.turn++;
	for (int j = 1; j <= MOST_PEERS; j++)
		assert_int_equal(transfer_lane_access_set(&access, &devices[0], &devices[j], true,
							  &err),
				 STATUS_OK);
	assert_int_equal(transfer_lane_access_set(&access, &devices[0], &devices[PEERED - 1], true,
						  &err),
			 STATUS_UNSUPPORTED);
	for (int j = 1; j <= MOST_PEERS; j++)
		assert_true(peers[0][j] && peers[j][0]);
	assert_false(peers[PEERED - 1][0]);
	transfer_lane_access_close(&access);
	for (int i = 0; i < PEERED * PEERED; i++)
		assert_false(peers[i / PEERED][i % PEERED]);
}

/*
 * Lent memory has one user; what came back is lent again; smaller blocks go when a larger one must
 * be made.
 */
static void test_pool(void **state)
{
	struct fixture *f = *state;
	struct pool pool = { 0 };
	struct buffer a, b;
	struct error err = ERROR_NONE;
	void *first;
	int node;

	assert_int_equal(transfer_lane_pool_take(&pool, &a, f->devices[0], ALLOCATOR_PAGEABLE, 5000,
						 &node, &err),
			 STATUS_OK);
	assert_int_equal(transfer_lane_pool_take(&pool, &b, f->devices[0], ALLOCATOR_PAGEABLE, 5000,
						 &node, &err),
			 STATUS_OK);
	assert_ptr_not_equal(a.memory, b.memory);
	assert_int_equal(spy.live_blocks, 2);
	first = a.memory;
	transfer_lane_pool_give(&pool, &a);
	assert_null(a.memory);
	transfer_lane_pool_give(&pool, &a); /* twice does nothing */
	assert_int_equal(transfer_lane_pool_take(&pool, &a, f->devices[0], ALLOCATOR_PAGEABLE, 4000,
						 &node, &err),
			 STATUS_OK);
	assert_ptr_equal(a.memory, first);
	assert_int_equal(a.bytes, 4000);
	transfer_lane_pool_give(&pool, &a);
	assert_int_equal(transfer_lane_pool_take(&pool, &a, f->devices[0], ALLOCATOR_PAGEABLE, 6000,
						 &node, &err),
			 STATUS_OK);
	assert_int_equal(spy.live_blocks, 2);
	transfer_lane_pool_empty(&pool); /* both are lent */
	assert_int_equal(spy.live_blocks, 2);
	transfer_lane_pool_give(&pool, &a);
	transfer_lane_pool_give(&pool, &b);
	transfer_lane_pool_close(&pool);
	assert_int_equal(spy.live_blocks, 0);
}

/* GPUs lend each other host memory; a copy to or from it is no copy between devices. */
static void test_borrowed_host_memory_is_the_hosts(void **state)
{
	struct fixture *f = *state;
	struct pool pool = { 0 };
	unsigned capabilities[FIXTURE_DEVICES];
	struct lane_plan plan = { .from = { f->devices[1], ALLOCATOR_DEVICE },
				  .to = { f->devices[1], ALLOCATOR_PAGEABLE },
				  .issuer = f->devices[1],
				  .pool = &pool,
				  .bytes = 4096,
				  .slots = 1,
				  .seed = 1 };
	struct error err = ERROR_NONE;
	struct buffer lent;
	struct transfer_lane lane;
	void *memory;
	int node;

	for (int i = 0; i < FIXTURE_DEVICES; i++) {
		capabilities[i] = f->devices[i]->info.capabilities;
		f->devices[i]->info.capabilities &= ~(unsigned)DEVICE_SHARES_HOST_MEMORY;
	}
	assert_int_equal(transfer_lane_pool_take(&pool, &lent, f->devices[0], ALLOCATOR_PAGEABLE,
						 4096, &node, &err),
			 STATUS_OK);
	memory = lent.memory;
	transfer_lane_pool_give(&pool, &lent);
	assert_int_equal(lane_open(&lane, &plan, &err), STATUS_OK);
	assert_ptr_equal(lane.to.memory, memory);
	assert_ptr_equal(lane.to.device, f->devices[1]);
	assert_int_equal(lane_verify(&lane, &err), STATUS_OK);
	assert_int_equal(spy.peer_copies, 0);
	lane_close(&lane);
	transfer_lane_pool_close(&pool);
	for (int i = 0; i < FIXTURE_DEVICES; i++)
		f->devices[i]->info.capabilities = capabilities[i];
}

/* Memory that is kept is given up when it is what is missing. */
/* Each device has its own, and never so much of it is kept that a next case would miss it. */
static void test_pool_of_device_memory(void **state)
{
	struct fixture *f = *state;
	struct pool pool = { 0 };
	uint64_t total = f->devices[0]->info.memory_bytes;
	struct error err = ERROR_NONE;
	struct buffer a, b;
	void *kept;
	int node;

	assert_int_equal(transfer_lane_pool_take(&pool, &a, f->devices[0], ALLOCATOR_DEVICE, 5000,
						 &node, &err),
			 STATUS_OK);
	assert_int_equal(node, -1);
	kept = a.memory;
	transfer_lane_pool_give(&pool, &a);
	assert_int_equal(transfer_lane_pool_take(&pool, &b, f->devices[1], ALLOCATOR_DEVICE, 5000,
						 &node, &err),
			 STATUS_OK);
	assert_true(b.memory != kept);
	assert_int_equal(transfer_lane_pool_take(&pool, &a, f->devices[0], ALLOCATOR_DEVICE, 4000,
						 &node, &err),
			 STATUS_OK);
	assert_ptr_equal(a.memory, kept);
	f->devices[0]->info.memory_bytes = 16 * 4999;
	transfer_lane_pool_give(&pool, &a);
	f->devices[0]->info.memory_bytes = total;
	assert_int_equal(spy.live_blocks, 1);
	transfer_lane_pool_give(&pool, &b);
	transfer_lane_pool_close(&pool);
	assert_int_equal(spy.live_blocks, 0);
}

static int refusals;

static enum status refuse(struct device *device, enum allocator allocator, size_t bytes,
			  struct stream *stream, void **out, struct error *err)
{
	if (refusals-- > 0)
		return error_set(err, STATUS_NO_MEMORY, "full");
	return spy_alloc(device, allocator, bytes, stream, out, err);
}

/* To the next buffer when the device is full, and not when it fails: it would seem to work then. */
static void test_pool_gives_way(void **state)
{
	struct fixture *f = *state;
	struct pool pool = { 0 };
	struct buffer a;
	struct error err = ERROR_NONE;
	int node;

	spy.table.memory_alloc = refuse;
	refusals = 0;

	assert_int_equal(transfer_lane_pool_take(&pool, &a, f->devices[0], ALLOCATOR_PAGEABLE, 5000,
						 &node, &err),
			 STATUS_OK);
	transfer_lane_pool_give(&pool, &a);
	refusals = 1;
	assert_int_equal(transfer_lane_pool_take(&pool, &a, f->devices[1], ALLOCATOR_PAGEABLE, 5000,
						 &node, &err),
			 STATUS_OK);
	assert_int_equal(spy.live_blocks, 1);
	transfer_lane_pool_give(&pool, &a);
	spy.fail_at = spy.calls + 1;
	assert_int_equal(transfer_lane_pool_take(&pool, &a, f->devices[0], ALLOCATOR_PAGEABLE, 5000,
						 &node, &err),
			 STATUS_DEVICE);
	assert_int_equal(spy.live_blocks, 1);
	transfer_lane_pool_empty(&pool);
	error_clear(&err);
	spy.fail_at = spy.calls + 1;
	assert_int_equal(transfer_lane_pool_take(&pool, &a, f->devices[1], ALLOCATOR_PAGEABLE, 5000,
						 &node, &err),
			 STATUS_DEVICE);
	assert_non_null(strstr(err.message, "told to fail"));
	assert_null(a.memory);
	transfer_lane_pool_close(&pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_every_direction_runs, fixture_reset),
		cmocka_unit_test_setup(test_cold_blocks_are_many, fixture_reset),
		cmocka_unit_test_setup(test_the_usual_is_not_in_the_id, fixture_reset),
		cmocka_unit_test_setup(test_kernels_reach_what_they_can, fixture_reset),
		cmocka_unit_test_setup(test_all_needs_several, fixture_reset),
		cmocka_unit_test_setup(test_routes, fixture_reset),
		cmocka_unit_test_setup(test_rounds_meet_once, fixture_reset),
		cmocka_unit_test_setup(test_together_adds_up, fixture_reset),
		cmocka_unit_test_setup(test_corrupt_names_the_way, fixture_reset),
		cmocka_unit_test_setup(test_short_kernels_are_found, fixture_reset),
		cmocka_unit_test_setup(test_a_way_that_is_not_walked_is_found, fixture_reset),
		cmocka_unit_test_setup(test_what_stays_in_a_cache_is_said, fixture_reset),
		cmocka_unit_test_setup(test_few_peers_at_a_time, fixture_reset),
		cmocka_unit_test_setup(test_pool, fixture_reset),
		cmocka_unit_test_setup(test_borrowed_host_memory_is_the_hosts, fixture_reset),
		cmocka_unit_test_setup(test_pool_of_device_memory, fixture_reset),
		cmocka_unit_test_setup(test_pool_gives_way, fixture_reset),
	};

	return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
