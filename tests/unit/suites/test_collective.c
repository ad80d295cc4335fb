/*
 * The suite `collective` between forked ranks of the host backend: what it plans, that every
 * operation comes out right in every placement and precision, and that planted errors are found on
 * the rank where they are.
 */
#include "parallel_ranks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "measure/run.h"
#include "plan/config.h"
#include "plan/plan.h"
#include "plan/suite.h"

#define QUICK                                                                                 \
	"[defaults]\nmin_samples = 3\nmax_samples = 4\nmax_time = 20ms\nsample_time = 20us\n" \
	"warmup = 1\n"

extern const struct suite suite_collective;

struct setting_up {
	struct config config;
	struct plan plan;
};

static void plan_from(struct setting_up *s, const char *ini, int devices)
{
	static const struct override none;
	struct device_info infos[RANKS_MAX];
	struct text errors = TEXT_EMPTY;
	struct error err = ERROR_NONE;

	memset(infos, 0, sizeof(infos));
	for (int i = 0; i < devices; i++) {
		snprintf(infos[i].id, sizeof(infos[i].id), "host:%d", i);
		strcpy(infos[i].backend, "host");
		infos[i].index = i;
		infos[i].capabilities = DEVICE_IS_HOST | DEVICE_HAS_FP32 | DEVICE_HAS_FP16 |
					DEVICE_HAS_BF16 | DEVICE_HAS_COLLECTIVES;
	}
	if (config_parse(&s->config, "test.ini", ini, strlen(ini), &none, 0, &errors) != STATUS_OK)
		fail_msg("%s", errors.data);
	text_release(&errors);
	if (plan_build(&s->plan, &s->config, infos, (size_t)devices, &err) != STATUS_OK)
		fail_msg("%s", err.message);
}

static void plan_done(struct setting_up *s)
{
	plan_release(&s->plan);
	config_release(&s->config);
}

static const struct plan_case *case_of(const struct setting_up *s, const char *id)
{
	for (size_t i = 0; i < s->plan.case_count; i++)
		if (strcmp(s->plan.cases[i].id, id) == 0)
			return &s->plan.cases[i];
	return NULL;
}

static void plans_what_makes_sense(void **state)
{
	struct setting_up s;

	(void)state;
	plan_from(&s,
		  "[suite collective]\nplacement = out_of_place, in_place\nlaunch = direct, graph\n"
		  "precisions = fp32, fp16\ndevices = 1, 2, 3\nsizes = 1KiB\n",
		  2);
	assert_non_null(case_of(&s, "collective/2/all_reduce/fp16/in_place/1KiB@host:0,host:1"));
	assert_non_null(
		case_of(&s, "collective/2/all_reduce/fp32/in_place/graph/1KiB@host:0,host:1"));
	assert_non_null(case_of(&s, "collective/2/all_gather/out_of_place/1KiB@host:0,host:1"));
	assert_non_null(case_of(&s, "collective/2/broadcast/1KiB@host:0,host:1"));
	assert_non_null(case_of(&s, "collective/2/send_recv/graph/1KiB@host:0,host:1"));
	assert_non_null(case_of(&s, "collective/2/all_to_all/1KiB@host:0,host:1"));
	/* Sums: 3 operations, 2 precisions, 2 placements; all_gather 2 placements; 3 more. */
	assert_int_equal(s.plan.case_count, 2 * 2 * (3 * 2 * 2 + 2 + 3));
	for (size_t i = 0; i < s.plan.case_count; i++) {
		const struct plan_case *c = &s.plan.cases[i];

		if (case_integer(c, "devices") == 3)
			assert_string_equal(c->skip_reason,
					    "needs 3 devices, and backend host has 2 "
					    "(run.host_devices=3 divides the CPU)");
		else
			assert_null(c->skip_reason);
	}
	plan_done(&s);
}

/* Counts and plants of a rank; each has its own copy. */
static struct {
	struct backend table;
	const struct backend *sound;
	int opened, blocks, calls;
	int bad_call, bad_rank; /* from this call on, on this rank; 0: none */
	enum { WRONG_BYTE, WRONG_SOURCE, FAILS } deed;
	void *received;
} spy;

static enum status count_open(struct device *device, const struct communicator_options *options,
			      const struct communicator_id *id, int rank, int size,
			      struct communicator **out, struct error *err)
{
	spy.opened++;
	return spy.sound->communicator_open(device, options, id, rank, size, out, err);
}

static enum status count_alloc(struct device *device, enum allocator allocator, size_t bytes,
			       struct stream *stream, void **out, struct error *err)
{
	enum status status = spy.sound->memory_alloc(device, allocator, bytes, stream, out, err);

	spy.blocks += status == STATUS_OK;
	return status;
}

static enum status count_free(struct device *device, enum allocator allocator, void *memory,
			      size_t bytes, struct stream *stream, struct error *err)
{
	spy.blocks -= memory != NULL;
	return spy.sound->memory_free(device, allocator, memory, bytes, stream, err);
}

/* After each operation, in its stream: the byte with the sign and most of the exponent. */
static enum status spoil(const struct communicator *c, struct stream *stream, void *to,
			 const void *from, struct error *err)
{
	static const unsigned char wrong = 0x5A;
	unsigned char *where = spy.deed == WRONG_SOURCE ? (unsigned char *)from : to;

	if (!spy.bad_call || ++spy.calls < spy.bad_call || c->rank != spy.bad_rank)
		return STATUS_OK;
	if (spy.deed == FAILS)
		return error_set(err, STATUS_UNSUPPORTED, "told to fail");
	return spy.sound->copy(stream, where + 7, &wrong, 1, err);
}

#define SPOILT(operation, parameters, arguments, to, from)                             \
	static enum status spoilt_##operation parameters                               \
	{                                                                              \
		enum status status = spy.sound->operation arguments;                   \
		return status == STATUS_OK ? spoil(c, stream, to, from, err) : status; \
	}
#define C struct communicator *c, struct stream *stream
#define E struct error *err
SPOILT(all_reduce,
       (C, void *to, const void *from, size_t count, enum precision p, enum reduction r, E),
       (c, stream, to, from, count, p, r, err), to, from)
SPOILT(all_gather, (C, void *to, const void *from, size_t count, enum precision p, E),
       (c, stream, to, from, count, p, err), to, from)
SPOILT(reduce_scatter,
       (C, void *to, const void *from, size_t count, enum precision p, enum reduction r, E),
       (c, stream, to, from, count, p, r, err), to, from)
SPOILT(reduce,
       (C, void *to, const void *from, size_t count, enum precision p, enum reduction r, int root,
	E),
       (c, stream, to, from, count, p, r, root, err), to, from)
SPOILT(broadcast, (C, void *buffer, size_t bytes, int root, E),
       (c, stream, buffer, bytes, root, err), buffer, buffer)
SPOILT(all_to_all, (C, void *to, const void *from, size_t count, enum precision p, E),
       (c, stream, to, from, count, p, err), to, from)

static struct stream *receiving;

static enum status note_receive(struct communicator *c, struct stream *stream, void *to,
				size_t bytes, int peer, struct error *err)
{
	spy.received = to;
	receiving = stream;
	return spy.sound->receive(c, stream, to, bytes, peer, err);
}

static enum status spoilt_group_end(struct communicator *c, struct error *err)
{
	enum status status = spy.sound->group_end(c, err);

	return status == STATUS_OK ? spoil(c, receiving, spy.received, spy.received, err) : status;
}

static void spy_on(struct device *device)
{
	spy.sound = device->backend;
	spy.table = *spy.sound;
	spy.table.communicator_open = count_open;
	spy.table.memory_alloc = count_alloc;
	spy.table.memory_free = count_free;
	spy.table.all_reduce = spoilt_all_reduce;
	spy.table.all_gather = spoilt_all_gather;
	spy.table.reduce_scatter = spoilt_reduce_scatter;
	spy.table.reduce = spoilt_reduce;
	spy.table.broadcast = spoilt_broadcast;
	spy.table.all_to_all = spoilt_all_to_all;
	spy.table.receive = note_receive;
	spy.table.group_end = spoilt_group_end;
	device->backend = &spy.table;
}

static void *suite_state; /* of this rank */

/* Carries out one case as a worker does. */
static enum status run_case(const struct plan_case *c, struct device *device, struct world *world,
			    struct case_result *result, struct error *err)
{
	struct sampling rules = sampling_from(c->section);
	struct run run = { .c = c,
			   .devices = &device,
			   .device_count = 1,
			   .world = world,
			   .seed = 4711 + c->index,
			   .result = result };

	*result = (struct case_result){ 0 };
	run.sampler = (struct sampler){ .rules = &rules, .world = world, .device = device };
	run.suite_state = suite_state = suite_state ? suite_state : c->suite->open_state();
	return c->suite->run(&run, err);
}

/* The factors of nccl-tests, written out once more. */
static double expected_factor(const char *operation, double n)
{
	if (strcmp(operation, "all_reduce") == 0)
		return 2 * (n - 1) / n;
	if (strcmp(operation, "broadcast") == 0 || strcmp(operation, "reduce") == 0 ||
	    strcmp(operation, "send_recv") == 0)
		return 1;
	return (n - 1) / n;
}

static bool near(double a, double b)
{
	return fabs(a - b) <= 1e-9 * fabs(b);
}

static enum status check_result(const struct plan_case *c, const struct case_result *result,
				int ranks, struct error *err)
{
	const struct metric_value *bus = case_metric(result, "collective.busbw");
	const struct metric_value *algorithm = case_metric(result, "collective.algbw");
	const struct metric_value *time = case_metric(result, "collective.time");
	double bytes = algorithm->value * time->value, size = (double)case_integer(c, "sizes");
	double factor = expected_factor(case_text(c, "operations"), ranks);

	if (!(time->value > 0) || !near(bus->value, factor * algorithm->value) ||
	    bytes > size * (1 + 1e-9) || bytes <= size - 16 * ranks)
		return error_set(err, STATUS_INTERNAL, "%s: %g s, %g B/s, bus %g B/s", c->id,
				 time->value, algorithm->value, bus->value);
	if (!result->verification.done ||
	    (isfinite(result->verification.tolerance) &&
	     !(result->verification.error <= result->verification.tolerance)))
		return error_set(err, STATUS_INTERNAL, "%s: verified with error %g, allowed %g",
				 c->id, result->verification.error, result->verification.tolerance);
	return STATUS_OK;
}

static size_t transports_of(const struct setting_up *s)
{
	return section_setting(s->plan.cases[0].section, "transport")->count;
}

/*
 * Every case of the plan for this many ranks, one after the other with one session for each
 * transport.
 */
static enum status run_all(struct device *device, struct world *world, void *context,
			   struct error *err)
{
	const struct setting_up *s = context;
	enum status status = STATUS_OK;

	spy_on(device);
	for (size_t i = 0; i < s->plan.case_count && status == STATUS_OK; i++) {
		const struct plan_case *c = &s->plan.cases[i];
		struct case_result result;

		if (case_integer(c, "devices") != world->size)
			continue;
		status = run_case(c, device, world, &result, err);
		error_prefix(err, "%s", c->id);
		if (status == STATUS_OK)
			status = check_result(c, &result, world->size, err);
		case_result_release(&result);
	}
	suite_collective.close_state(suite_state);
	if (status == STATUS_OK && spy.opened != (int)transports_of(s))
		return error_set(err, STATUS_INTERNAL, "%d communicators", spy.opened);
	if (spy.blocks)
		return error_set(err, STATUS_INTERNAL, "%d blocks left", spy.blocks);
	return status;
}

static void every_operation_comes_out_right(void **state)
{
	struct setting_up s;

	(void)state;
	plan_from(&s,
		  QUICK "[suite collective]\nplacement = out_of_place, in_place\n"
			"precisions = fp32, fp16, bf16\ndevices = 2, 3, 4\n"
			"sizes = 256B, 1000B, 300000B\n",
		  4);
	for (int ranks = 2; ranks <= 4; ranks++)
		assert_ranks(run_ranks(ranks, run_all, &s), ranks, STATUS_OK, "all cases");
	plan_done(&s);
}

/* Several steps of the host's collectives, and more samples than verify a single one. */
static void large_tensors_come_out_right(void **state)
{
	struct setting_up s;

	(void)state;
	plan_from(&s, QUICK "[suite collective]\ndevices = 2\nsizes = 3MiB\n", 2);
	assert_ranks(run_ranks(2, run_all, &s), 2, STATUS_OK, "all cases");
	plan_done(&s);
}

/* Cases of one transport follow each other. */
static void transports_come_out_right(void **state)
{
	struct setting_up s;

	(void)state;
	plan_from(&s,
		  QUICK "[suite collective]\nplacement = in_place, out_of_place\n"
			"transport = auto, host_copy, shared_memory\n"
			"precisions = fp32, fp16\ndevices = 2, 3\nsizes = 1000B, 700000B\n",
		  3);
	assert_non_null(strstr(s.plan.cases[1].id, "collective/2/all_reduce"));
	assert_non_null(
		strstr(s.plan.cases[s.plan.case_count - 1].id, "collective/3/shared_memory"));
	for (int ranks = 2; ranks <= 3; ranks++)
		assert_ranks(run_ranks(ranks, run_all, &s), ranks, STATUS_OK, "all transports");
	plan_done(&s);
}

static void assert_says(const struct rank_outcome *outcomes, int ranks, const char *words,
			const char *what)
{
	for (int rank = 0; rank < ranks; rank++)
		if (!strstr(outcomes[rank].err.message, words))
			fail_msg("%s, rank %d: '%s' does not say '%s'", what, rank,
				 outcomes[rank].err.message, words);
}

/* The planted error ends the case on every rank, with words that say where it is. */
static void plant(const char *keys, int bad_call, int bad_rank, int deed, enum status expected,
		  const char *where, const char *when)
{
	const struct rank_outcome *outcomes;
	char ini[600];
	struct setting_up s;

	snprintf(ini, sizeof(ini), QUICK "[suite collective]\ndevices = 3\nsizes = 3000B\n%s",
		 keys);
	plan_from(&s, ini, 3);
	assert_int_equal(s.plan.case_count, 1);
	spy.bad_call = bad_call;
	spy.bad_rank = bad_rank;
	spy.deed = deed;
	outcomes = run_ranks(3, run_all, &s);
	spy.bad_call = 0;
	assert_ranks(outcomes, 3, expected, keys);
	assert_says(outcomes, 3, where, keys);
	assert_says(outcomes, 3, when, keys);
	plan_done(&s);
}

static const char *const each_operation[] = {
	"operations = all_reduce\n",
	"operations = all_reduce\nplacement = in_place\n",
	"operations = all_reduce\nprecisions = bf16\n",
	"operations = all_gather\n",
	"operations = all_gather\nplacement = in_place\n",
	"operations = reduce_scatter\nprecisions = fp16\n",
	"operations = reduce_scatter\nplacement = in_place\n",
	"operations = broadcast\n",
	"operations = send_recv\n",
	"operations = all_to_all\n",
};

static void a_wrong_byte_is_found_before_timing(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(each_operation); i++)
		plant(each_operation[i], 1, 2, WRONG_BYTE, STATUS_MISMATCH, "result on rank 2",
		      "before timing");
	plant("operations = reduce\n", 1, 0, WRONG_BYTE, STATUS_MISMATCH, "result on rank 0",
	      "before timing");
}

/* The operation that was verified was sound; those that were timed are not. */
static void a_wrong_byte_is_found_after_timing(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(each_operation); i++)
		plant(each_operation[i], 3, 1, WRONG_BYTE, STATUS_MISMATCH, "result on rank 1",
		      "after timing");
	plant("operations = reduce\nplacement = in_place\n", 3, 0, WRONG_BYTE, STATUS_MISMATCH,
	      "result on rank 0", "after timing");
}

/* Once only: what a later operation makes of it would be found first. */
static void an_overwritten_source_is_found(void **state)
{
	(void)state;
	plant("operations = all_reduce\n", 1, 1, WRONG_SOURCE, STATUS_MISMATCH, "source on rank 1",
	      "before timing");
	plant("operations = all_gather\n", 1, 1, WRONG_SOURCE, STATUS_MISMATCH, "source on rank 1",
	      "before timing");
}

/* No rank waits for the one that failed. */
static void a_failure_on_one_rank_is_one_on_all(void **state)
{
	(void)state;
	plant("operations = all_reduce\n", 1, 1, FAILS, STATUS_UNSUPPORTED, "told to fail",
	      "before timing");
	plant("operations = send_recv\n", 3, 1, FAILS, STATUS_UNSUPPORTED, "told to fail",
	      "collective/3/send_recv");
}

/* The host records no collectives: the case says so, and those after it still run. */
static enum status run_refused(struct device *device, struct world *world, void *context,
			       struct error *err)
{
	const struct setting_up *s = context;
	int refused = 0;

	for (size_t i = 0; i < s->plan.case_count; i++) {
		struct error why = ERROR_NONE;
		struct case_result result;
		enum status status = run_case(&s->plan.cases[i], device, world, &result, &why);

		refused += status == STATUS_UNSUPPORTED;
		if (status != STATUS_OK && status != STATUS_UNSUPPORTED)
			error_set(err, status, "%s: %s", s->plan.cases[i].id, why.message);
		case_result_release(&result);
	}
	suite_collective.close_state(suite_state);
	if (refused != 2)
		error_set(err, STATUS_INTERNAL, "%d refused", refused);
	return err->status;
}

static void what_cannot_be_recorded_is_skipped(void **state)
{
	struct setting_up s;

	(void)state;
	plan_from(&s,
		  QUICK "[suite collective]\noperations = all_reduce, send_recv\n"
			"launch = graph, direct\ndevices = 2\nsizes = 1KiB\n",
		  2);
	assert_int_equal(s.plan.case_count, 4);
	assert_ranks(run_ranks(2, run_refused, &s), 2, STATUS_OK, "graphs");
	plan_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plans_what_makes_sense),
		cmocka_unit_test(every_operation_comes_out_right),
		cmocka_unit_test(large_tensors_come_out_right),
		cmocka_unit_test(transports_come_out_right),
		cmocka_unit_test(a_wrong_byte_is_found_before_timing),
		cmocka_unit_test(a_wrong_byte_is_found_after_timing),
		cmocka_unit_test(an_overwritten_source_is_found),
		cmocka_unit_test(a_failure_on_one_rank_is_one_on_all),
		cmocka_unit_test(what_cannot_be_recorded_is_skipped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
