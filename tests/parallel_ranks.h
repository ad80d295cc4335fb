/*
 * Runs a function on several host devices as the suite `parallel` does: one forked process per
 * rank, joined by a world. Also when there is one rank: OpenMP and OpenBLAS then never start
 * threads in the test's own process, which later forks.
 */
#ifndef GPUPROOF_TESTS_PARALLEL_RANKS_H
#define GPUPROOF_TESTS_PARALLEL_RANKS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device/backend.h"
#include "measure/processes/world.h"

#define RANKS_MAX 8
/* Against a hang; sanitizers are ten times as slow. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RANKS_TIMEOUT_SECONDS 900
#else
#define RANKS_TIMEOUT_SECONDS 120
#endif

typedef enum status rank_fn(struct device *device, struct world *world, void *context,
			    struct error *err);

/* What each rank ended with. */
struct rank_outcome {
	struct error err;
};

static inline void rank_main(struct world *world, rank_fn *fn, void *context,
			     struct rank_outcome *outcome)
{
	struct backend_options options = { .host_devices = world->size };
	struct backend_list list;
	struct device *device = NULL;

	alarm(RANKS_TIMEOUT_SECONDS);
	backends_open(&list, "host", &options);
	if (list.count != 1 ||
	    list.backends[0]->device_open(world->rank, &device, &outcome->err) != STATUS_OK)
		_exit(3);
	outcome->err.status = fn(device, world, context, &outcome->err);
	list.backends[0]->device_close(device);
	backends_close(&list);
	world_release(world);
	_exit(0);
}

/* Fails the test when a rank dies; returns the outcomes, valid until the next call. */
static inline const struct rank_outcome *run_ranks(int size, rank_fn *fn, void *context)
{
	static struct rank_outcome *outcomes;
	struct error err = ERROR_NONE;
	struct world world;
	pid_t children[RANKS_MAX];

	if (!outcomes)
		outcomes = mmap(NULL, RANKS_MAX * sizeof(*outcomes), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	memset(outcomes, 0, RANKS_MAX * sizeof(*outcomes));
	assert_int_equal(world_create(&world, size, &err), STATUS_OK);
	for (int rank = 0; rank < size; rank++) {
		children[rank] = fork();
		assert_true(children[rank] >= 0);
		if (children[rank] == 0) {
			world.rank = rank;
			rank_main(&world, fn, context, &outcomes[rank]);
		}
	}
	for (int rank = 0; rank < size; rank++) {
		int status;

		assert_int_equal(waitpid(children[rank], &status, 0), children[rank]);
		if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
			fail_msg("rank %d of %d died: wait status %#x", rank, size,
				 (unsigned)status);
	}
	world_release(&world);
	return outcomes;
}

static inline void assert_ranks(const struct rank_outcome *outcomes, int size, enum status expected,
				const char *what)
{
	for (int rank = 0; rank < size; rank++)
		if (outcomes[rank].err.status != expected)
			fail_msg("%s, rank %d of %d: %s instead of %s: %s", what, rank, size,
				 status_name(outcomes[rank].err.status), status_name(expected),
				 outcomes[rank].err.message);
}

#endif
