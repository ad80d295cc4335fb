/*
 * Pairs of devices that copy at the same time (suites/transfer/company.c): what is said of links that carry their data at
 * the same time, of links that do not, of a slow one, and of one whose data arrive wrong. Copies are real; what they take
 * is planted: the spy's events tell the time.
 */
#define FIXTURE_DEVICES 8
#include "suite_fixture.h"

#define PAIRS (FIXTURE_DEVICES / 2)
#define ALONE_SECONDS 1e-3
#define BYTES 4096

/* What a copy takes, issued by the device of that number. */
static double seconds[FIXTURE_DEVICES];
/* How much longer it takes for each other one that runs at the same time. */
static double disturbance;
static int corrupt_device; /* what it receives is wrong; -1: none */
static int gates, samples_of_gates;
static bool burst_ended;

static enum status plant_gate_close(struct stream *stream, double timeout, struct error *err)
{
	if (burst_ended)
		gates = 0;
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

	burst_ended = true;
	*out = seconds[device] * (1 + disturbance * (gates - 1)) *
	       (1 + 1e-4 * (samples_of_gates++ % 3));
	return status;
}

static enum status plant_copy_peer(struct stream *stream, void *to, struct device *to_device,
				   const void *from, struct device *from_device, size_t bytes,
				   struct error *err)
{
	static unsigned char wrong[BYTES];

	if (to_device->info.index == corrupt_device) {
		memcpy(wrong, from, bytes);
		wrong[bytes / 2] ^= 1;
		from = wrong;
	}
	return spy.real->copy_peer(stream, to, to_device, from, from_device, bytes, err);
}

static int plant_reset(void **state)
{
	fixture_reset(state);
	spy.table.gate_close = plant_gate_close;
	spy.table.event_elapsed = plant_elapsed;
	spy.table.copy_peer = plant_copy_peer;
	for (int i = 0; i < FIXTURE_DEVICES; i++)
		seconds[i] = ALONE_SECONDS;
	disturbance = 0;
	corrupt_device = -1;
	gates = 0;
	return 0;
}

#define PLAN                                                                                       \
	"[defaults]\nmin_samples = 6\nmax_samples = 6\nsample_time = 20us\n[suite transfer]\n"        \
	"access = on\nsizes = 4KiB\ndirections = "

struct company {
	struct case_result results[PAIRS];
	struct error errs[PAIRS];
	const struct plan_case *cases[PAIRS];
};

/* The first PAIRS cases of `ini` as one company, as a worker carries them out. */
static void carry_out(struct fixture *f, const char *ini, struct company *c)
{
	struct device *devices[PAIRS][2];
	struct sampling rules;
	struct run runs[PAIRS], *list[PAIRS];

	memset(c, 0, sizeof(*c));
	plan_from(f, ini, f->infos, FIXTURE_DEVICES);
	rules = sampling_from(f->plan.cases[0].section);
	for (size_t i = 0; i < PAIRS; i++) {
		const struct plan_case *pair = c->cases[i] = &f->plan.cases[i];

		for (size_t k = 0; k < 2; k++)
			devices[i][k] = f->devices[pair->devices[k]];
		runs[i] = (struct run){ .c = pair,
					.devices = devices[i],
					.device_count = 2,
					.seed = i + 1,
					.sampler = { .rules = &rules, .device = devices[i][0] },
					.result = &c->results[i] };
		list[i] = &runs[i];
		case_parameters_fill(pair, &c->results[i]);
	}
	c->cases[0]->suite->run_company(list, PAIRS, c->errs);
}

static void release(struct fixture *f, struct company *c)
{
	c->cases[0]->suite->release();
	for (size_t i = 0; i < PAIRS; i++)
		case_result_release(&c->results[i]);
	plan_done(f);
	assert_nothing_open("company");
}

static void assert_close(double got, double expected)
{
	if (!(fabs(got - expected) <= 1e-3 * expected))
		fail_msg("%g, not %g", got, expected);
}

static double bandwidth(const struct company *c, size_t i)
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

static bool joins(const struct company *c)
{
	return c->cases[0]->suite->joins(c->cases[0], c->cases[1]);
}

static void assert_says(const struct company *c, size_t i, const char *words)
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
	struct company c;

	carry_out(f, PLAN "p2p", &c);
	assert_true(joins(&c));
	for (size_t i = 0; i < PAIRS; i++) {
		assert_int_equal(c.errs[i].status, STATUS_OK);
		assert_close(bandwidth(&c, i), BYTES / ALONE_SECONDS);
		assert_true(c.results[i].verification.done);
		assert_true(has_series(&c.results[i], "transfer.time"));
		assert_int_equal(has_series(&c.results[i], "transfer.time_alone"), i == 0);
		assert_says(&c, i, "Sampled together with 3 other pairs; it has 100.0 % of what host:0 "
				   "and host:7 have alone.");
	}
	assert_true(joins(&c));
	release(f, &c);
}

/* It is slow alone too: that is its figure, and no reason to part the others. */
static void a_slow_pair_is_slow_by_itself(void **state)
{
	struct fixture *f = *state;
	struct company c;

	seconds[2] = 2 * ALONE_SECONDS;
	carry_out(f, PLAN "p2p", &c);
	for (size_t i = 0; i < PAIRS; i++) {
		bool slow = c.cases[i]->devices[0] == 2;

		assert_close(bandwidth(&c, i), BYTES / ALONE_SECONDS / (slow ? 2 : 1));
		assert_int_equal(has_series(&c.results[i], "transfer.time_alone"), slow || i == 0);
		if (slow)
			assert_says(&c, i, "it has 50.0 % of what host:0 and host:7 have alone, and no "
					   "more by itself.");
	}
	assert_true(joins(&c));
	release(f, &c);
}

/* What counts is what each pair has alone; later cases of the kind keep no company. */
static void links_that_are_shared_are_measured_one_by_one(void **state)
{
	struct fixture *f = *state;
	struct company c;

	disturbance = 0.5;
	carry_out(f, PLAN "p2p_read", &c);
	for (size_t i = 0; i < PAIRS; i++) {
		assert_close(bandwidth(&c, i), BYTES / ALONE_SECONDS);
		assert_true(has_series(&c.results[i], "transfer.time_in_company"));
		assert_false(has_series(&c.results[i], "transfer.time_alone"));
		assert_says(&c, i, "Sampled alone: together with 3 other pairs it has 40.0 % of that.");
	}
	assert_false(joins(&c));
	release(f, &c);
}

/* Both ways in turn: each way is checked, and said once. */
static void both_ways_too(void **state)
{
	struct fixture *f = *state;
	struct company c;

	carry_out(f, PLAN "p2p_both", &c);
	for (size_t i = 0; i < PAIRS; i++) {
		assert_int_equal(c.errs[i].status, STATUS_OK);
		assert_close(bandwidth(&c, i), 2 * BYTES / ALONE_SECONDS);
		assert_says(&c, i, "Sampled together with 3 other pairs");
		assert_null(strstr(strstr(c.results[i].notes, "Sampled") + 1, "Sampled"));
	}
	assert_true(has_series(&c.results[0], "transfer.time_forward_alone"));
	assert_true(has_series(&c.results[0], "transfer.time_backward_alone"));
	release(f, &c);
}

static void a_corrupt_pair_leaves_the_others(void **state)
{
	struct fixture *f = *state;
	struct company c;

	corrupt_device = 5;
	carry_out(f, PLAN "p2p", &c);
	for (size_t i = 0; i < PAIRS; i++) {
		if (c.cases[i]->devices[1] == 5) {
			assert_int_equal(c.errs[i].status, STATUS_MISMATCH);
			assert_non_null(strstr(c.errs[i].message, "corrupt: before timing"));
			continue;
		}
		assert_int_equal(c.errs[i].status, STATUS_OK);
		assert_close(bandwidth(&c, i), BYTES / ALONE_SECONDS);
		assert_says(&c, i, "together with 2 other pairs");
	}
	release(f, &c);
}

/* By way of the host they share it. */
static void only_direct_copies_keep_company(void **state)
{
	struct fixture *f = *state;

	plan_from(f,
		  "[suite transfer]\nsizes = 4KiB, 8KiB\naccess = off\ndirections = p2p\n", f->infos,
		  FIXTURE_DEVICES);
	assert_false(f->plan.cases[0].suite->joins(&f->plan.cases[0], &f->plan.cases[1]));
	plan_done(f);
	plan_from(f, PLAN "h2d, local\nmemories = pageable", f->infos, FIXTURE_DEVICES);
	for (size_t i = 0; i + 1 < f->plan.case_count; i++)
		assert_false(
			f->plan.cases[i].suite->joins(&f->plan.cases[i], &f->plan.cases[i + 1]));
	plan_done(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(pairs_come_in_rounds, plant_reset),
		cmocka_unit_test_setup(links_of_their_own_are_measured_together, plant_reset),
		cmocka_unit_test_setup(a_slow_pair_is_slow_by_itself, plant_reset),
		cmocka_unit_test_setup(links_that_are_shared_are_measured_one_by_one, plant_reset),
		cmocka_unit_test_setup(both_ways_too, plant_reset),
		cmocka_unit_test_setup(a_corrupt_pair_leaves_the_others, plant_reset),
		cmocka_unit_test_setup(only_direct_copies_keep_company, plant_reset),
	};

	return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
