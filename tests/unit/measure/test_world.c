/*
 * Ranks: forked processes that exchange data through `world`, and threads, so that ThreadSanitizer
 * sees it; over shared memory and over TCP alike.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <netinet/in.h>
#include <arpa/inet.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/error.h"
#include "base/memory.h"
#include "measure/processes/world.h"
#include "measure/processes/world_tcp.h"

#define STRANGERS 200

#define MAX_RANKS 8

typedef bool rank_fn(struct world *world);

static enum status create_over_tcp(struct world *world, int size, struct error *err)
{
	const struct world_tcp_options options = { 0 };

	return world_tcp_create(world, size, &options, NULL, err);
}

/* Which implementation is tried. */
static enum status (*create)(struct world *world, int size, struct error *err);

static int over_shared_memory(void **state)
{
	(void)state;
	create = world_create;
	return 0;
}

static int over_tcp(void **state)
{
	(void)state;
	create = create_over_tcp;
	return 0;
}

struct rank {
	struct world world;
	rank_fn *run;
	bool good;
};

static bool in_processes(int size, rank_fn *run)
{
	struct error err = ERROR_NONE;
	struct world world;
	bool good = true;

	assert_int_equal(create(&world, size, &err), STATUS_OK);
	fflush(NULL);
	for (int rank = 0; rank < size; rank++) {
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (pid == 0) {
			world.rank = rank;
			alarm(60);
			_exit(run(&world) ? 0 : 1);
		}
	}
	for (int rank = 0; rank < size; rank++) {
		int status;

		assert_true(wait(&status) > 0);
		good = good && status == 0;
	}
	world_release(&world);
	return good;
}

static void *thread_main(void *argument)
{
	struct rank *rank = argument;

	rank->good = rank->run(&rank->world);
	return NULL;
}

static bool in_threads(int size, rank_fn *run)
{
	struct error err = ERROR_NONE;
	struct rank ranks[MAX_RANKS];
	pthread_t threads[MAX_RANKS];
	struct world world;
	bool good = true;

	assert_int_equal(create(&world, size, &err), STATUS_OK);
	for (int rank = 0; rank < size; rank++) {
		ranks[rank] = (struct rank){ .world = world, .run = run };
		ranks[rank].world.rank = rank;
		assert_int_equal(pthread_create(&threads[rank], NULL, thread_main, &ranks[rank]),
				 0);
	}
	for (int rank = 0; rank < size; rank++) {
		pthread_join(threads[rank], NULL);
		good = good && ranks[rank].good;
	}
	world_release(&world);
	return good;
}

static void on_every_size(rank_fn *run)
{
	static const int sizes[] = { 1, 2, 3, 8 };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		assert_true(in_processes(sizes[i], run));
		assert_true(in_threads(sizes[i], run));
	}
}

static uint64_t token(int rank, int round)
{
	return (uint64_t)round * 1000003u + (uint64_t)rank * 7u + 1;
}

/*
 * Many exchanges in a row, ranks of different speed: no rank ever sees a neighbour's earlier or
 * later data.
 */
static bool exchanges(struct world *world)
{
	uint64_t all[MAX_RANKS];

	for (int round = 0; round < 150; round++) {
		int root = round % world->size;
		uint64_t mine = token(world->rank, round), sent = mine;

		if (round % 25 == world->rank)
			usleep(500);
		world_gather(world, &mine, all, sizeof(mine));
		for (int i = 0; i < world->size; i++)
			if (all[i] != token(i, round))
				return false;
		world_broadcast(world, root, &sent, sizeof(sent));
		if (sent != token(root, round))
			return false;
		if (round % 3 == 0)
			world_barrier(world);
	}
	return true;
}

static void gather_and_broadcast(void **state)
{
	(void)state;
	on_every_size(exchanges);
}

static bool largest_message(struct world *world)
{
	static const size_t half = WORLD_MAX_BYTES / 2;
	unsigned char *mine = xmalloc(WORLD_MAX_BYTES), *all = xmalloc(MAX_RANKS * WORLD_MAX_BYTES);
	bool good = true;

	memset(mine, world->rank + 1, WORLD_MAX_BYTES);
	world_gather(world, mine, all, WORLD_MAX_BYTES);
	for (int i = 0; i < world->size; i++)
		good = good && all[(size_t)i * WORLD_MAX_BYTES + half] == i + 1 &&
		       all[(size_t)(i + 1) * WORLD_MAX_BYTES - 1] == i + 1;
	free(mine);
	free(all);
	return good;
}

static void a_slot_holds_the_largest_message(void **state)
{
	(void)state;
	on_every_size(largest_message);
}

static bool reductions(struct world *world)
{
	/* Not associative: any order but the ranks' gives other bits. */
	static const double values[MAX_RANKS] = { 1e16, 1, -1e16, 3.14, 1e-3, 2e15, 7, -2e15 };
	double expected = 0;

	for (int i = 0; i < world->size; i++)
		expected += values[i];
	return world_max(world, -5.0 + world->rank) == -5.0 + world->size - 1 &&
	       world_sum(world, values[world->rank]) == (world->size == 1 ? values[0] : expected);
}

static void max_and_sum_in_rank_order(void **state)
{
	(void)state;
	on_every_size(reductions);
}

static bool agreement(struct world *world)
{
	struct error err = ERROR_NONE;
	int last = world->size - 1;
	bool good = world_agree(world, STATUS_OK, &err) == STATUS_OK && err.status == STATUS_OK;
	char expected[64];

	/* The last rank fails: it keeps its own message, the others are told whose it is. */
	if (world->rank == last)
		error_set(&err, STATUS_DEVICE, "cudaFoo: broken");
	good = good && world_agree(world, err.status, &err) == STATUS_DEVICE;
	snprintf(expected, sizeof(expected), "rank %d: cudaFoo: broken", last);
	good = good && strcmp(err.message, world->rank == last ? "cudaFoo: broken" : expected) == 0;
	/* Agreed on again, as by the caller of what failed: the rank stays. */
	good = good && world_agree(world, err.status, &err) == STATUS_DEVICE;
	good = good && err.rank == (last ? last + 1 : 0);

	/* "Unsupported" speaks only when nothing worse happened. */
	error_clear(&err);
	if (world->rank == 0)
		error_set(&err, STATUS_UNSUPPORTED, "no FP16");
	if (world->rank == last && last > 0)
		error_set(&err, STATUS_MISMATCH, "wrong");
	good = good && world_agree(world, err.status, &err) ==
			       (last > 0 ? STATUS_MISMATCH : STATUS_UNSUPPORTED);
	return good && (last == 0 || err.status == STATUS_MISMATCH);
}

/* A failure that one rank could ignore, another must not: all of them stop, and say why. */
static bool one_answer(struct world *world)
{
	static const enum status weaker[] = { STATUS_UNSUPPORTED, STATUS_NO_MEMORY };
	int last = world->size - 1;
	bool good = true;

	for (size_t i = 0; i < ARRAY_SIZE(weaker) && last > 0; i++) {
		struct error err = ERROR_NONE;
		char expected[64];

		if (world->rank == 0)
			error_set(&err, weaker[i], "would do without");
		else if (world->rank == last)
			error_set(&err, STATUS_DEVICE, "broken");
		snprintf(expected, sizeof(expected), "rank %d: broken", last);
		good = good && world_agree(world, err.status, &err) == STATUS_DEVICE &&
		       err.status == STATUS_DEVICE &&
		       strcmp(err.message, world->rank == last ? "broken" : expected) == 0;
	}
	return good;
}

static void all_ranks_get_one_answer(void **state)
{
	(void)state;
	on_every_size(one_answer);
}

static void agreeing_on_success(void **state)
{
	(void)state;
	on_every_size(agreement);
}

static bool out_of_step(struct world *world)
{
	char byte = 0;

	if (world->rank == 0)
		world_barrier(world);
	else
		world_broadcast(world, 0, &byte, 1);
	return true;
}

static void ranks_out_of_step_abort(void **state)
{
	(void)state;
	assert_false(in_processes(2, out_of_step));
}

static void each_world_has_its_own_id(void **state)
{
	struct error err = ERROR_NONE;
	struct world worlds[3];

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(create(&worlds[i], i < 2 ? 2 : 1, &err), STATUS_OK);
	assert_true(worlds[0].id && worlds[1].id && worlds[0].id != worlds[1].id);
	assert_true(worlds[2].id == 0);
	for (int i = 0; i < 3; i++)
		world_release(&worlds[i]);
}

static void sizes_below_one_are_refused(void **state)
{
	struct error err = ERROR_NONE;
	struct world world;

	(void)state;
	assert_int_equal(create(&world, 0, &err), STATUS_INTERNAL);
}

/*
 * Processes of a world over TCP; `run` reports by its exit code, the parent sees what is pending.
 */
static bool tcp_processes(int size, const struct world_tcp_options *options, rank_fn *run,
			  const char *pending)
{
	struct error err = ERROR_NONE, said = ERROR_NONE;
	struct world world;
	pid_t pids[MAX_RANKS];
	bool good = true;

	assert_int_equal(world_tcp_create(&world, size, options, NULL, &err), STATUS_OK);
	fflush(NULL);
	for (int rank = 0; rank < size; rank++) {
		pids[rank] = fork();
		assert_true(pids[rank] >= 0);
		if (pids[rank] == 0) {
			world.rank = rank;
			alarm(60);
			_exit(run(&world) ? 0 : 1);
		}
	}
	for (int rank = 0; rank < size; rank++) {
		int status;

		assert_int_equal(waitpid(pids[rank], &status, 0), pids[rank]);
		good = good && status == 0;
	}
	if (pending) {
		assert_true(world_pending_failure(&world, &said));
		if (!strstr(said.message, pending))
			fail_msg("%s", said.message);
	}
	world_release(&world);
	return good;
}

static bool ends_with(struct world *world, const char *start, const char *end)
{
	struct error err = ERROR_NONE;
	int rank = -1;
	bool good = world_agree(world, STATUS_OK, &err) != STATUS_OK &&
		    (sscanf(start, "rank %d", &rank) == 0 || err.rank == rank + 1) &&
		    strncmp(err.message, start, strlen(start)) == 0 && strstr(err.message, end);

	if (!good)
		fprintf(stderr, "rank %d: %s\n", world->rank, err.message);
	return good;
}

/* Other calls than agreement end the process: without its peers a rank is of no use. */
static bool barrier_without_rank_1(struct world *world)
{
	world_barrier(world);
	if (world->rank == 1)
		_exit(0);
	world_barrier(world);
	return true;
}

static void a_rank_of_an_ended_world_exits(void **state)
{
	(void)state;
	assert_false(in_processes(2, barrier_without_rank_1));
}

static bool rank_2_dies(struct world *world)
{
	world_barrier(world);
	if (world->rank == 2)
		_exit(0);
	return ends_with(world, "rank 2 (127.0.0.1:", "closed the connection");
}

static void a_dead_rank_is_named(void **state)
{
	const struct world_tcp_options options = { 0 };

	(void)state;
	assert_true(tcp_processes(4, &options, rank_2_dies, "rank 2 (127.0.0.1:"));
}

/* The ranks that have ended while one was silent, counted for all processes. */
static atomic_int *ended;

static bool rank_1_is_silent(struct world *world)
{
	bool named;

	world_barrier(world);
	if (world->rank == 1) {
		while (atomic_load(ended) < 2)
			usleep(1000);
		return true;
	}
	named = ends_with(world, "rank 1 (127.0.0.1:", "has not responded for 3 s");
	atomic_fetch_add(ended, 1);
	return named;
}

static void a_silent_rank_is_named(void **state)
{
	const struct world_tcp_options options = { .silent_seconds = 3 };

	(void)state;
	ended = mmap(NULL, sizeof(*ended), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	assert_true(ended != MAP_FAILED);
	assert_true(tcp_processes(3, &options, rank_1_is_silent, "has not responded"));
	munmap(ended, sizeof(*ended));
}

static bool rank_1_never_comes(struct world *world)
{
	if (world->rank == 1)
		return true;
	return ends_with(world, "rank 1", "did not connect within 3 s");
}

static void a_rank_that_never_connects_is_named(void **state)
{
	const struct world_tcp_options options = { .join_seconds = 3 };

	(void)state;
	assert_true(tcp_processes(3, &options, rank_1_never_comes, "did not connect"));
}

static bool rank_1_leaves(struct world *world)
{
	world_barrier(world);
	if (world->rank == 1)
		return world_leave(world), true;
	return ends_with(world, "rank 1", "has ended, but other ranks wait for it");
}

static bool all_leave(struct world *world)
{
	world_barrier(world);
	world_leave(world);
	return true;
}

static void leaving_is_no_failure_unless_a_rank_waits(void **state)
{
	const struct world_tcp_options options = { 0 };

	(void)state;
	assert_true(tcp_processes(3, &options, rank_1_leaves, "has ended"));
	assert_true(tcp_processes(3, &options, all_leave, NULL));
}

static void *first_rank(void *context)
{
	struct world *world = context;
	struct error err = ERROR_NONE;

	return world_agree(world, STATUS_OK, &err) == STATUS_OK ? world : NULL;
}

static int call_hub(const struct world_tcp_address *address)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)address->port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	inet_pton(AF_INET, address->host, &to.sin_addr);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

static void send_junk(const struct world_tcp_address *address)
{
	int fd = call_hub(address);

	assert_true(send(fd, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 36, MSG_NOSIGNAL) > 0);
	close(fd);
}

static void strangers_get_nothing_and_disturb_nothing(void **state)
{
	const struct world_tcp_options options = { 0 };
	struct world_tcp_address address, wrong;
	struct error err = ERROR_NONE;
	struct world first, thief, second;
	pthread_t thread;
	void *good;

	(void)state;
	assert_int_equal(world_tcp_create(&first, 2, &options, &address, &err), STATUS_OK);
	assert_int_equal(pthread_create(&thread, NULL, first_rank, &first), 0);
	wrong = address;
	wrong.token[WORLD_TOKEN_BYTES - 1] ^= 1;
	assert_int_equal(world_tcp_attach(&thief, 2, &options, &wrong, &err), STATUS_OK);
	thief.rank = 1;
	assert_int_not_equal(world_agree(&thief, STATUS_OK, &err), STATUS_OK);
	error_clear(&err);
	send_junk(&address);
	assert_int_equal(world_tcp_attach(&second, 2, &options, &address, &err), STATUS_OK);
	assert_true(second.id == first.id);
	second.rank = 1;
	assert_int_equal(world_agree(&second, STATUS_OK, &err), STATUS_OK);
	pthread_join(thread, &good);
	assert_non_null(good);
	world_release(&thief);
	world_release(&second);
	world_release(&first);
}

/* Many more silent callers than a hub holds, before its ranks come and while they do. */
static void many_silent_strangers_keep_no_rank_out(void **state)
{
	const struct world_tcp_options options = { 0 };
	int strangers[2 * STRANGERS];
	struct world_tcp_address address;
	struct error err = ERROR_NONE;
	struct world first, second;
	pthread_t thread;
	void *good;

	(void)state;
	assert_int_equal(world_tcp_create(&first, 2, &options, &address, &err), STATUS_OK);
	for (size_t i = 0; i < STRANGERS; i++)
		strangers[i] = call_hub(&address);
	assert_int_equal(pthread_create(&thread, NULL, first_rank, &first), 0);
	for (size_t i = STRANGERS; i < 2 * STRANGERS; i++)
		strangers[i] = call_hub(&address);
	assert_int_equal(world_tcp_attach(&second, 2, &options, &address, &err), STATUS_OK);
	second.rank = 1;
	assert_int_equal(world_agree(&second, STATUS_OK, &err), STATUS_OK);
	pthread_join(thread, &good);
	assert_non_null(good);
	for (size_t i = 0; i < 2 * STRANGERS; i++)
		close(strangers[i]);
	world_release(&second);
	world_release(&first);
}

static bool rank_agrees(struct world *world)
{
	struct error err = ERROR_NONE;

	return world_agree(world, STATUS_OK, &err) == STATUS_OK;
}

static void a_world_over_ipv6(void **state)
{
	const struct world_tcp_options options = { .host = "::1" };
	struct error err = ERROR_NONE;
	struct world_tcp_address address;
	struct world world;

	(void)state;
	if (world_tcp_create(&world, 2, &options, &address, &err) != STATUS_OK) {
		print_message("skipped: no IPv6 here: %s\n", err.message);
		skip();
	}
	assert_string_equal(address.host, "::1");
	world_release(&world);
	assert_true(tcp_processes(3, &options, rank_agrees, NULL));
}

int main(void)
{
#define BOTH(name) \
	cmocka_unit_test_setup(name, over_shared_memory), cmocka_unit_test_setup(name, over_tcp)
	const struct CMUnitTest tests[] = {
		BOTH(gather_and_broadcast),
		BOTH(a_slot_holds_the_largest_message),
		BOTH(max_and_sum_in_rank_order),
		BOTH(agreeing_on_success),
		BOTH(all_ranks_get_one_answer),
		BOTH(ranks_out_of_step_abort),
		BOTH(each_world_has_its_own_id),
		BOTH(sizes_below_one_are_refused),
		cmocka_unit_test(a_dead_rank_is_named),
		cmocka_unit_test_setup(a_rank_of_an_ended_world_exits, over_tcp),
		cmocka_unit_test(a_world_over_ipv6),
		cmocka_unit_test(a_silent_rank_is_named),
		cmocka_unit_test(a_rank_that_never_connects_is_named),
		cmocka_unit_test(leaving_is_no_failure_unless_a_rank_waits),
		cmocka_unit_test(strangers_get_nothing_and_disturb_nothing),
		cmocka_unit_test(many_silent_strangers_keep_no_rank_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
