/*
 * Sessions that the ranks of the suite `collective` keep from case to case: opened once, and closed
 * by all ranks together.
 */
#include "closings.h"

#include "suites/shared/ranks/communicators.h"

/* Worlds of the first 2, 3 and 4 of four ranks, made before they are. */
static struct world worlds[RANKS_MAX + 1];

static enum status use(struct sessions *sessions, struct device *device, struct world *world,
		       enum transport transport, struct communicator **out, struct error *err)
{
	const struct collective_session *s =
		communicators_session_find(sessions, device, world, transport, err);

	if (!s)
		return err->status;
	if (s->communicator->size != world->size || s->communicator->rank != world->rank)
		return error_set(err, STATUS_INTERNAL, "the session of another world");
	*out = s->communicator;
	return STATUS_OK;
}

static enum status run_in_worlds(struct device *device, struct world *world, void *context,
				 struct error *err)
{
	static const enum transport transports[] = { TRANSPORT_AUTO, TRANSPORT_SHARED_MEMORY,
						     TRANSPORT_HOST_COPY };
	struct communicator *first = NULL, *again = NULL;
	struct sessions *sessions = communicators_sessions_open();

	(void)context;
	closings_watch(device);
	for (int size = 2; size <= 4; size++) {
		struct world mine = size == 4 ? *world : worlds[size];

		mine.rank = world->rank;
		if (world->rank >= size)
			continue;
		if (use(sessions, device, &mine, TRANSPORT_AUTO, &first, err) != STATUS_OK ||
		    use(sessions, device, &mine, TRANSPORT_AUTO, &again, err) != STATUS_OK)
			return err->status;
		if (first != again)
			return error_set(err, STATUS_INTERNAL, "opened twice");
		/* More than are kept, of the small worlds, while the others wait with theirs. */
		for (size_t t = 0; t < 3 && size < 4; t++)
			if (use(sessions, device, &mine, transports[t], &again, err) != STATUS_OK)
				return err->status;
	}
	communicators_sessions_close(sessions);
	closings_unwatch(device);
	return STATUS_OK;
}

static void sessions_are_closed_by_all_ranks_together(void **state)
{
	struct error err = ERROR_NONE;

	(void)state;
	closings_begin();
	for (int size = 2; size < 4; size++)
		assert_int_equal(world_create(&worlds[size], size, &err), STATUS_OK);
	assert_ranks(run_ranks(4, run_in_worlds, NULL), 4, STATUS_OK, "worlds");
	assert_int_equal(closings->alone, 0);
	/* Every one that was opened. */
	assert_int_equal(closings->came[2], 2 * 3);
	assert_int_equal(closings->came[3], 3 * 3);
	assert_int_equal(closings->came[4], 4);
	for (int size = 2; size < 4; size++)
		world_release(&worlds[size]);
	closings_end();
}

/*
 * One rank cannot open its end; the others could, and must not wait for it when they close theirs.
 */
static enum status run_half_opened(struct device *device, struct world *world, void *context,
				   struct error *err)
{
	struct communicator *opened = NULL;
	struct sessions *sessions = communicators_sessions_open();
	enum status status;

	(void)context;
	closings_watch(device);
	closings_refusing = 1;
	status = use(sessions, device, world, TRANSPORT_AUTO, &opened, err);
	if (status != STATUS_DEVICE || !strstr(err->message, "it is out of memory"))
		return error_set(err, STATUS_INTERNAL, "a rank did not hear of the failure");
	error_clear(err);
	closings_refusing = -1;
	status = use(sessions, device, world, TRANSPORT_AUTO, &opened, err);
	communicators_sessions_close(sessions);
	closings_unwatch(device);
	return status;
}

static void what_only_some_ranks_opened_is_closed_without_waiting(void **state)
{
	(void)state;
	closings_begin();
	assert_ranks(run_ranks(3, run_half_opened, NULL), 3, STATUS_OK, "half opened");
	assert_int_equal(closings->alone, 0);
	closings_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sessions_are_closed_by_all_ranks_together),
		cmocka_unit_test(what_only_some_ranks_opened_is_closed_without_waiting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
