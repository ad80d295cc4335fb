/*
 * Pairs of devices that copy at the same time (suites/transfer/group.c): what is said of links that
 * carry their data at the same time, of links that do not, of a slow one, and of one whose data
 * arrive wrong. Copies are real; what they take is planted: the spy's events tell the time.
 */
#define FIXTURE_DEVICES 8
#include "suite_fixture.h"

#define PAIRS (FIXTURE_DEVICES / 2)
#define BASELINE_CACHE_SECONDS 1e-3
#define BYTES 4096

/* Seconds of a copy that is issued by the device of that number. */
static double seconds[FIXTURE_DEVICES];
/* How much longer it takes for each other one that runs at the same time. */
static double disturbance;
static int disturbed_device; /* only this one; -1: all */
static int corrupt_device;   /* what it receives is wrong; -1: none */
static int gates, samples_of_gates;
static bool burst_ended;
/* Factor of the time when several pairs copy in one burst. */
static double company;
static unsigned senders; /* devices that send in this burst, a bit each */

static enum status plant_gate_close(struct stream *stream, double timeout, struct error *err)
{
	if (burst_ended)
		gates = 0, senders = 0;
	burst_ended = false;
	gates++;
	return spy.real->gate_close(stream, timeout, err);
}

/* A little different each time: all equal would be too good. */
static enum status plant_elapsed(struct event *start, struct event *end, double *out,
				 struct error *err)
{
	enum status status = spy.real->event_elapsed(start, end, out, err);
	int device = end->device->info.index;
	bool disturbed = disturbed_device < 0 || disturbed_device == device;

	burst_ended = true;
	*out = seconds[device] * (1 + (disturbed ? disturbance * (gates - 1) : 0)) *
	       (senders & (senders - 1) ? company : 1) * (1 + 1e-4 * (samples_of_gates++ % 3));
	return status;
}

/*
 * `from` with a wrong byte. Earlier copies may still read it: what has not changed is not written.
 */
static const void *corrupted(const void *from, size_t bytes)
{
	static unsigned char wrong[BYTES];
	unsigned char now[BYTES];

	memcpy(now, from, bytes);
	now[bytes / 2] ^= 1;
	if (memcmp(wrong, now, bytes) != 0)
		memcpy(wrong, now, bytes);
	return wrong;
}

static enum status plant_copy(struct stream *stream, void *to, const void *from, size_t bytes,
			      struct error *err)
{
	if (bytes == BYTES && stream->device->info.index == corrupt_device)
		from = corrupted(from, bytes);
	return spy.real->copy(stream, to, from, bytes, err);
}

static enum status plant_copy_peer(struct stream *stream, void *to, struct device *to_device,
				   const void *from, struct device *from_device, size_t bytes,
				   struct error *err)
{
	senders |= 1u << from_device->info.index;
	if (to_device->info.index == corrupt_device)
		from = corrupted(from, bytes);
	return spy.real->copy_peer(stream, to, to_device, from, from_device, bytes, err);
}

static int plant_reset(void **state)
{
	fixture_reset(state);
	spy.table.gate_close = plant_gate_close;
	spy.table.event_elapsed = plant_elapsed;
	spy.table.copy_peer = plant_copy_peer;
	spy.table.copy = plant_copy;
	for (int i = 0; i < FIXTURE_DEVICES; i++)
		seconds[i] = BASELINE_CACHE_SECONDS;
	disturbance = 0;
	company = 1;
	corrupt_device = disturbed_device = -1;
	gates = 0;
	return 0;
}

#define PLAN                                                                                   \
	"[defaults]\nmin_samples = 6\nmax_samples = 6\nsample_time = 20us\n[suite transfer]\n" \
	"access = on\nsizes = 4KiB\ndirections = "

struct concurrent_group {
	struct case_result results[PAIRS];
	struct error errs[PAIRS];
	const struct plan_case *cases[PAIRS];
};

/* Opened by a test's first case. */
static void *suite_state;

/* The first PAIRS cases of `ini` as one concurrent group, as a worker carries them out. */
static void carry_out(struct fixture *f, const char *ini, struct concurrent_group *c)
{
	struct device *devices[PAIRS][2];
	struct sampling rules;
	struct run runs[PAIRS], *list[PAIRS];

	memset(c, 0, sizeof(*c));
	plan_from(f, ini, f->infos, FIXTURE_DEVICES);
	if (!suite_state)
		suite_state = f->plan.cases[0].suite->open_state();
	rules = sampling_from(f->plan.cases[0].section);
	for (size_t i = 0; i < PAIRS; i++) {
		const struct plan_case *pair = c->cases[i] = &f->plan.cases[i];

		for (size_t k = 0; k < 2; k++)
			devices[i][k] = f->devices[pair->devices[k]];
		runs[i] = (struct run){ .c = pair,
					.devices = devices[i],
					.device_count = 2,
					.suite_state = suite_state,
					.seed = i + 1,
					.sampler = { .rules = &rules, .device = devices[i][0] },
					.result = &c->results[i] };
		list[i] = &runs[i];
		describe_parameters(pair, &c->results[i]);
	}
	c->cases[0]->suite->run_group(list, PAIRS, c->errs);
}

/* Every device once before all others. */
struct rotation {
	const struct plan_case *cases[FIXTURE_DEVICES];
	struct device *devices[FIXTURE_DEVICES][FIXTURE_DEVICES];
	struct sampling rules;
	struct run runs[FIXTURE_DEVICES], *list[FIXTURE_DEVICES];
};

static void rotation_begin(struct fixture *f, const char *ini, struct rotation *r,
			   struct case_result *results)
{
	plan_from(f, ini, f->infos, FIXTURE_DEVICES);
	assert_int_equal(f->plan.case_count, FIXTURE_DEVICES);
	suite_state = f->plan.cases[0].suite->open_state();
	r->rules = sampling_from(f->plan.cases[0].section);
	for (size_t i = 0; i < FIXTURE_DEVICES; i++) {
		r->cases[i] = &f->plan.cases[i];
		for (size_t k = 0; k < FIXTURE_DEVICES; k++)
			r->devices[i][k] = f->devices[r->cases[i]->devices[k]];
		r->runs[i] =
			(struct run){ .c = r->cases[i],
				      .devices = r->devices[i],
				      .device_count = FIXTURE_DEVICES,
				      .suite_state = suite_state,
				      .seed = i + 1,
				      .sampler = { .rules = &r->rules, .device = r->devices[i][0] },
				      .result = &results[i] };
		r->list[i] = &r->runs[i];
		describe_parameters(r->cases[i], &results[i]);
		seconds[i] = BASELINE_CACHE_SECONDS * (double)(i + 1);
	}
}

static void close_state(const struct suite *suite)
{
	suite->close_state(suite_state);
	suite_state = NULL;
}

static void release(struct fixture *f, struct concurrent_group *c)
{
	close_state(c->cases[0]->suite);
	for (size_t i = 0; i < PAIRS; i++)
		case_result_release(&c->results[i]);
	plan_done(f);
	assert_nothing_open("concurrent group");
}

static void assert_close(double got, double expected)
{
	if (!(fabs(got - expected) <= 1e-3 * expected))
		fail_msg("%g, not %g", got, expected);
}

static double bandwidth(const struct concurrent_group *c, size_t i)
{
	return case_metric(&c->results[i], "transfer.bandwidth")->value;
}

static bool has_series(const struct case_result *c, const char *name)
{
	for (size_t i = 0; i < c->series_count; i++)
		if (strcmp(c->series[i].name, name) == 0)
			return true;
	return false;
}

static bool groups(const struct concurrent_group *c)
{
	return c->cases[0]->suite->groups_with(suite_state, c->cases, 1, c->cases[1]);
}

static void assert_says(const struct concurrent_group *c, size_t i, const char *words)
{
	if (!c->results[i].notes || !strstr(c->results[i].notes, words))
		fail_msg("%s: '%s' lacks '%s'", c->cases[i]->id, c->results[i].notes, words);
}

/* Neighbours in the plan share no device, and every ordered pair is there once. */
static void pairs_come_in_rounds(void **state)
{
	struct fixture *f = *state;
	bool seen[FIXTURE_DEVICES][FIXTURE_DEVICES] = { { false } };

	for (size_t n = 2; n <= FIXTURE_DEVICES; n++) {
		size_t together = n / 2;

		memset(seen, 0, sizeof(seen));
		plan_from(f, PLAN "p2p", f->infos, n);
		assert_int_equal(f->plan.case_count, n * (n - 1));
		for (size_t i = 0; i < f->plan.case_count; i++) {
			const size_t *pair = f->plan.cases[i].devices;

			assert_false(seen[pair[0]][pair[1]]);
			seen[pair[0]][pair[1]] = true;
			for (size_t k = i - i % together; k < i; k++)
				for (int x = 0; x < 4; x++)
					assert_int_not_equal(pair[x / 2],
							     f->plan.cases[k].devices[x % 2]);
		}
		plan_done(f);
		plan_from(f, PLAN "p2p_both", f->infos, n);
		assert_int_equal(f->plan.case_count, n * (n - 1) / 2);
		plan_done(f);
	}
}

static void links_of_their_own_are_measured_together(void **state)
{
	struct fixture *f = *state;
	struct concurrent_group c;

	carry_out(f, PLAN "p2p", &c);
	assert_true(groups(&c));
	for (size_t i = 0; i < PAIRS; i++) {
		assert_int_equal(c.errs[i].status, STATUS_OK);
		assert_close(bandwidth(&c, i), BYTES / BASELINE_CACHE_SECONDS);
		assert_true(c.results[i].verification.done);
		assert_true(has_series(&c.results[i], "transfer.time"));
		assert_int_equal(has_series(&c.results[i], "transfer.time_alone"), i == 0);
		assert_says(&c, i,
			    "This pair was sampled together with 3 other pairs; it reaches 100.0 % "
			    "of "
			    "the bandwidth of host:0 and host:7 alone.");
	}
	assert_true(groups(&c));
	release(f, &c);
}

/* It is slow alone too: that is its figure, and no reason to part the others. */
static void a_slow_pair_is_slow_by_itself(void **state)
{
	struct fixture *f = *state;
	struct concurrent_group c;

	seconds[2] = 2 * BASELINE_CACHE_SECONDS;
	carry_out(f, PLAN "p2p", &c);
	for (size_t i = 0; i < PAIRS; i++) {
		bool slow = c.cases[i]->devices[0] == 2;

		assert_close(bandwidth(&c, i), BYTES / BASELINE_CACHE_SECONDS / (slow ? 2 : 1));
		assert_int_equal(has_series(&c.results[i], "transfer.time_alone"), slow || i == 0);
		if (slow)
			assert_says(&c, i,
				    "it reaches 50.0 % of the bandwidth of host:0 and host:7 "
				    "alone, and is not faster when sampled alone.");
	}
	assert_true(groups(&c));
	release(f, &c);
}

/* Pairs of the second round are held against the first pair alone, too. */
static void later_rounds_need_no_reference(void **state)
{
	struct fixture *f = *state;
	struct concurrent_group first, second;

	carry_out(f, PLAN "p2p", &first);
	plan_done(f);
	carry_out(f, PLAN "p2p", &second);
	assert_true(has_series(&first.results[0], "transfer.time_alone"));
	for (size_t i = 0; i < PAIRS; i++) {
		assert_false(has_series(&second.results[i], "transfer.time_alone"));
		assert_says(&second, i, "100.0 % of the bandwidth of host:0 and host:7 alone.");
		case_result_release(&first.results[i]);
	}
	release(f, &second);
}

/*
 * The first pair is by a slow way. One that is faster, but would be much faster alone, must not
 * pass for undisturbed.
 */
static void a_faster_pair_is_checked_against_itself(void **state)
{
	struct fixture *f = *state;
	struct concurrent_group c;

	seconds[0] = 4 * BASELINE_CACHE_SECONDS;
	disturbance = 0.1;
	disturbed_device = 3;
	carry_out(f, PLAN "p2p", &c);
	for (size_t i = 0; i < PAIRS; i++) {
		bool disturbed = c.cases[i]->devices[0] == 3;

		assert_close(bandwidth(&c, i), BYTES / BASELINE_CACHE_SECONDS / (i == 0 ? 4 : 1));
		assert_int_equal(has_series(&c.results[i], "transfer.time_in_company"), disturbed);
	}
	assert_false(groups(&c));
	release(f, &c);
}

/* The figure of each pair alone counts; later cases of the kind run one by one. */
static void links_that_are_shared_are_measured_one_by_one(void **state)
{
	struct fixture *f = *state;
	struct concurrent_group c;

	disturbance = 0.5;
	carry_out(f, PLAN "p2p_read", &c);
	for (size_t i = 0; i < PAIRS; i++) {
		assert_close(bandwidth(&c, i), BYTES / BASELINE_CACHE_SECONDS);
		assert_true(has_series(&c.results[i], "transfer.time_in_company"));
		assert_false(has_series(&c.results[i], "transfer.time_alone"));
		assert_says(&c, i,
			    "This pair was sampled alone; together with 3 other pairs it reaches "
			    "40.0 % of this bandwidth.");
	}
	assert_false(groups(&c));
	release(f, &c);
}

/* All pairs at once, against the first one alone: the words follow from the figures. */
static void pairs_in_company_say_whether_they_disturb(void **state)
{
	static const struct {
		double company;
		const char *words;
	} rows[] = { { 1, "the pairs do not slow each other down" },
		     { 1.02, "the pairs do not slow each other down" },
		     { 1.04, "the pairs slow each other down, or one of them is slower" },
		     { 2.5, "the pairs slow each other down, or one of them is slower" } };
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct case_result result;
		struct error err = ERROR_NONE;

		company = rows[i].company;
		plan_from(f, PLAN "p2p_pairs", f->infos, FIXTURE_DEVICES);
		assert_int_equal(run_case(f, &f->plan.cases[0], &result, &err), STATUS_OK);
		assert_close(case_metric(&result, "transfer.concurrent_share")->value,
			     1 / rows[i].company);
		if (!strstr(result.notes, rows[i].words))
			fail_msg("'%s' lacks '%s'", result.notes, rows[i].words);
		case_result_release(&result);
		plan_done(f);
	}
}

/* Both directions in turn: each is checked, and reported once. */
static void both_ways_too(void **state)
{
	struct fixture *f = *state;
	struct concurrent_group c;

	carry_out(f, PLAN "p2p_both", &c);
	for (size_t i = 0; i < PAIRS; i++) {
		assert_int_equal(c.errs[i].status, STATUS_OK);
		assert_close(bandwidth(&c, i), 2 * BYTES / BASELINE_CACHE_SECONDS);
		assert_says(&c, i, "sampled together with 3 other pairs");
		assert_null(strstr(strstr(c.results[i].notes, "sampled") + 1, "sampled"));
	}
	assert_true(has_series(&c.results[0], "transfer.time_forward_alone"));
	assert_true(has_series(&c.results[0], "transfer.time_backward_alone"));
	release(f, &c);
}

static void a_corrupt_pair_leaves_the_others(void **state)
{
	struct fixture *f = *state;
	struct concurrent_group c;

	corrupt_device = 5;
	carry_out(f, PLAN "p2p", &c);
	for (size_t i = 0; i < PAIRS; i++) {
		if (c.cases[i]->devices[1] == 5) {
			assert_int_equal(c.errs[i].status, STATUS_MISMATCH);
			assert_non_null(strstr(c.errs[i].message, "corrupt: before timing"));
			continue;
		}
		assert_int_equal(c.errs[i].status, STATUS_OK);
		assert_close(bandwidth(&c, i), BYTES / BASELINE_CACHE_SECONDS);
		assert_says(&c, i, "together with 2 other pairs");
	}
	release(f, &c);
}

#define ROTATION                                                                               \
	"[defaults]\nmin_samples = 3\nmax_samples = 3\nsample_time = 20us\n[suite transfer]\n" \
	"memories = registered\nsizes = 4KiB\ndirections = "

static void host_to_all_times_each_device_alone(void **state)
{
	static const char *const inis[] = { ROTATION "host_to_all", ROTATION "all_to_host",
					    ROTATION "host_to_all_both",
					    ROTATION "all_to_host_both\nengines = sm" };
	struct fixture *f = *state;

	for (size_t n = 0; n < ARRAY_SIZE(inis); n++) {
		struct case_result results[FIXTURE_DEVICES] = { { 0 } };
		struct error errs[FIXTURE_DEVICES] = { { 0 } };
		struct rotation r;

		rotation_begin(f, inis[n], &r, results);
		for (size_t i = 0; i < FIXTURE_DEVICES; i++) {
			r.cases[i]->suite->run_group(&r.list[i], 1, &errs[i]);
			if (errs[i].status != STATUS_OK)
				fail_msg("%s: %s", r.cases[i]->id, errs[i].message);
			/* Each is timed on its own device. */
			assert_close(case_metric(&results[i], "transfer.bandwidth")->value,
				     BYTES / (BASELINE_CACHE_SECONDS * (double)(i + 1)));
			assert_true(results[i].verification.done);
			case_result_release(&results[i]);
		}
		close_state(r.cases[0]->suite);
		plan_done(f);
		assert_nothing_open(inis[n]);
	}
}

/* The copies of one device arrive wrong: only the case of this device fails. */
static void a_corrupt_device_fails_its_own_case(void **state)
{
	struct fixture *f = *state;
	struct case_result results[FIXTURE_DEVICES] = { { 0 } };
	struct error errs[FIXTURE_DEVICES] = { { 0 } };
	struct rotation r;

	corrupt_device = 5;
	rotation_begin(f, ROTATION "host_to_all", &r, results);
	for (size_t i = 0; i < FIXTURE_DEVICES; i++) {
		r.cases[i]->suite->run_group(&r.list[i], 1, &errs[i]);
		assert_int_equal(errs[i].status, i == 5 ? STATUS_MISMATCH : STATUS_OK);
		assert_int_equal(results[i].verification.done, i != 5);
		case_result_release(&results[i]);
	}
	assert_non_null(strstr(errs[5].message, "corrupt: before timing, host to host:5"));
	close_state(r.cases[0]->suite);
	plan_done(f);
	assert_nothing_open("corrupt case");
}

/* A case of the plan and the one after it. */
static bool may_group(const struct fixture *f, size_t i)
{
	const struct plan_case *c = &f->plan.cases[i];

	void *opened = c->suite->open_state();
	bool may = c->suite->groups_with(opened, &c, 1, c + 1);

	c->suite->close_state(opened);
	return may;
}

/* By way of the host they share it. */
static void only_direct_copies_form_groups(void **state)
{
	struct fixture *f = *state;

	plan_from(f, "[suite transfer]\nsizes = 4KiB, 8KiB\naccess = off\ndirections = p2p\n",
		  f->infos, FIXTURE_DEVICES);
	assert_false(may_group(f, 0));
	plan_done(f);
	plan_from(f, PLAN "h2d, local\nmemories = pageable", f->infos, FIXTURE_DEVICES);
	for (size_t i = 0; i + 1 < f->plan.case_count; i++)
		assert_false(may_group(f, i));
	plan_done(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(pairs_come_in_rounds, plant_reset),
		cmocka_unit_test_setup(links_of_their_own_are_measured_together, plant_reset),
		cmocka_unit_test_setup(a_slow_pair_is_slow_by_itself, plant_reset),
		cmocka_unit_test_setup(later_rounds_need_no_reference, plant_reset),
		cmocka_unit_test_setup(a_faster_pair_is_checked_against_itself, plant_reset),
		cmocka_unit_test_setup(links_that_are_shared_are_measured_one_by_one, plant_reset),
		cmocka_unit_test_setup(pairs_in_company_say_whether_they_disturb, plant_reset),
		cmocka_unit_test_setup(both_ways_too, plant_reset),
		cmocka_unit_test_setup(a_corrupt_pair_leaves_the_others, plant_reset),
		cmocka_unit_test_setup(host_to_all_times_each_device_alone, plant_reset),
		cmocka_unit_test_setup(a_corrupt_device_fails_its_own_case, plant_reset),
		cmocka_unit_test_setup(only_direct_copies_form_groups, plant_reset),
	};

	return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
