/*
 * The suite `burn` between forked ranks of the host backend: what it plans; that all is well where
 * nothing is wrong; and that every wrong bit is found where it is, whether the suite plants it or a
 * memory or a library that fails.
 */
#include "parallel_ranks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "kernels/soak.h"
#include "measure/run.h"
#include "plan/config.h"
#include "plan/plan.h"
#include "plan/suite.h"

#define SMALL                                                                                \
	"[suite burn]\nsize = 64\nmemory_most = 1MiB\nlink_size = 64KiB\nduration = 100ms\n" \
	"reading = 10ms\n"

struct setting_up {
	struct config config;
	struct plan plan;
	int plant; /* bits that are planted on each device in each case */
};

static enum status try_plan(struct setting_up *s, const char *ini, int devices, unsigned lacks,
			    struct error *err)
{
	static const struct override none;
	struct device_info infos[RANKS_MAX];
	struct text errors = TEXT_EMPTY;

	memset(infos, 0, sizeof(infos));
	for (int i = 0; i < devices; i++) {
		snprintf(infos[i].id, sizeof(infos[i].id), "host:%d", i);
		strcpy(infos[i].backend, "host");
		infos[i].index = i;
		infos[i].memory_bytes = UINT64_C(1) << 30;
		infos[i].capabilities = (DEVICE_IS_HOST | DEVICE_HAS_FP64 | DEVICE_HAS_FP32 |
					 DEVICE_HAS_FP16 | DEVICE_HAS_COLLECTIVES) &
					~lacks;
	}
	if (config_parse(&s->config, "test.ini", ini, strlen(ini), &none, 0, &errors) != STATUS_OK)
		fail_msg("%s", errors.data);
	text_release(&errors);
	return plan_build(&s->plan, &s->config, infos, (size_t)devices, err);
}

static void plan_from(struct setting_up *s, const char *ini, int devices)
{
	struct error err = ERROR_NONE;

	if (try_plan(s, ini, devices, 0, &err) != STATUS_OK)
		fail_msg("%s", err.message);
}

static void plan_done(struct setting_up *s)
{
	plan_release(&s->plan);
	config_release(&s->config);
}

/* Each load lasts as long as the others, no case longer than a slice, and the loads take turns. */
static void slices_take_turns(void **state)
{
	static const char *const ids[] = {
		"burn/0001/fp32@host:0,host:1", "burn/0001/memory@host:0,host:1",
		"burn/0002/fp32@host:0,host:1", "burn/0002/memory@host:0,host:1",
		"burn/0003/fp32@host:0,host:1", "burn/0003/memory@host:0,host:1"
	};
	struct setting_up s;
	double total = 0;

	(void)state;
	plan_from(&s, "[suite burn]\nloads = fp32, memory\nduration = 5min\nslice = 60s\n", 2);
	assert_int_equal(s.plan.case_count, ARRAY_SIZE(ids));
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		const struct plan_case *c = &s.plan.cases[i];

		assert_string_equal(c->id, ids[i]);
		assert_true(c->fixed_seconds <= 60);
		assert_true(c->estimate_seconds >= c->fixed_seconds);
		assert_true(c->limit_seconds >= c->fixed_seconds + 30);
		total += c->fixed_seconds;
	}
	assert_float_equal(total, 300, 1e-6);
	assert_int_equal(s.plan.cases[1].device_bytes, (uint64_t)(0.95 * (1 << 30)));
	plan_done(&s);
}

static void says_what_cannot_be_planned(void **state)
{
	struct setting_up s;
	struct error err = ERROR_NONE;

	(void)state;
	assert_int_equal(try_plan(&s, "[suite burn]\nsize = 100\n", 1, 0, &err), STATUS_USAGE);
	assert_non_null(strstr(err.message, "multiple of 16"));
	config_release(&s.config);
	error_clear(&err);
	assert_int_equal(try_plan(&s, "[suite burn]\nduration = 24h\nslice = 1s\n", 1, 0, &err),
			 STATUS_USAGE);
	assert_non_null(strstr(err.message, "make slice longer"));
	config_release(&s.config);
	error_clear(&err);
	assert_int_equal(try_plan(&s, "[suite burn]\nloads = fp64, links\n", 2,
				  DEVICE_HAS_FP64 | DEVICE_HAS_COLLECTIVES, &err),
			 STATUS_OK);
	assert_string_equal(s.plan.cases[0].skip_reason, "host:0 has no fp64");
	assert_string_equal(s.plan.cases[1].skip_reason, "host:0 has no collectives");
	plan_done(&s);
}

/* The fault on rank `rank`, and how often it happened; each rank has its own copy. */
static struct {
	struct backend table;
	const struct backend *sound;
	enum { NOTHING, MEMORY, PRODUCT, PRODUCT_MISSING, TRANSFER, SUM } fault;
	int rank, products, transfers;
	uint64_t turned; /* bits */
	kernel_fn *soak_memory;
	uint64_t last_offset;
} spy;

static struct world *own_world;

static bool faulty(int fault)
{
	return (int)spy.fault == fault && own_world->rank == spy.rank;
}

/* After each sweep that writes, one bit of what was written turns: as a bad cell does. */
static enum status forgetful_memory(struct stream *stream, const void *arguments, struct error *err)
{
	const struct soak_memory_arguments *a = arguments;
	enum status status = spy.soak_memory(stream, arguments, err);
	uint64_t word = generator_bits(17, spy.turned) % a->words;
	uint64_t *at = (uint64_t *)a->memory + word;

	if (status != STATUS_OK || !a->write || !faulty(MEMORY))
		return status;
	status = spy.sound->stream_synchronize(stream, err);
	*at ^= UINT64_C(1) << generator_bits(18, spy.turned++) % 64;
	spy.last_offset = 8 * word;
	return status;
}

static kernel_fn *spied_kernel(const char *name)
{
	kernel_fn *real = spy.sound->kernel(name);

	if (strcmp(name, "soak_memory") != 0)
		return real;
	spy.soak_memory = real;
	return forgetful_memory;
}

/* Every tenth product has a wrong bit, or is not computed at all. */
static enum status spied_gemm(struct stream *stream, const struct gemm *gemm, struct error *err)
{
	bool now = ++spy.products % 10 == 0;
	enum status status;

	if (now && faulty(PRODUCT_MISSING)) {
		spy.turned++;
		return STATUS_OK;
	}
	status = spy.sound->gemm(stream, gemm, err);
	if (!now || !faulty(PRODUCT) || status != STATUS_OK)
		return status;
	status = spy.sound->stream_synchronize(stream, err);
	((uint32_t *)gemm->c)[generator_bits(19, spy.turned) % (uint64_t)(gemm->m * gemm->n)] ^=
		UINT32_C(1) << generator_bits(20, spy.turned) % 32;
	spy.turned++;
	return status;
}

/* Every tenth large copy has a wrong bit. */
static enum status spied_copy(struct stream *stream, void *to, const void *from, size_t bytes,
			      struct error *err)
{
	enum status status = spy.sound->copy(stream, to, from, bytes, err);

	if (status != STATUS_OK || bytes != 65536 || !faulty(TRANSFER) || ++spy.transfers % 10 != 0)
		return status;
	status = spy.sound->stream_synchronize(stream, err);
	((char *)to)[generator_bits(21, spy.turned++) % bytes] ^= 1;
	return status;
}

static enum status spied_all_reduce(struct communicator *c, struct stream *stream, void *to,
				    const void *from, size_t count, enum precision precision,
				    enum reduction reduction, struct error *err)
{
	static const float wrong = 1e3f;
	enum status status =
		spy.sound->all_reduce(c, stream, to, from, count, precision, reduction, err);

	if (status != STATUS_OK || !faulty(SUM) || spy.turned)
		return status;
	spy.turned++;
	return spy.sound->copy(stream, (float *)to + 77, &wrong, sizeof(wrong), err);
}

static void spy_on(struct device *device, struct world *world)
{
	own_world = world;
	spy.sound = device->backend;
	spy.table = *spy.sound;
	spy.table.kernel = spied_kernel;
	spy.table.gemm = spied_gemm;
	spy.table.copy = spied_copy;
	spy.table.all_reduce = spied_all_reduce;
	device->backend = &spy.table;
}

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
	enum status status;

	case_result_init(result);
	run.sampler = (struct sampler){ .rules = &rules, .world = world, .device = device };
	run.suite_state = c->suite->open_state();
	status = c->suite->run(&run, err);
	c->suite->close_state(run.suite_state);
	return status;
}

static double metric(const struct case_result *result, const char *name)
{
	const struct metric_value *m = case_metric(result, name);

	return m ? m->value : -1;
}

/* Rank 0 has the watches of all. */
static enum status check_watches(const struct case_result *result, const struct world *world,
				 struct error *err)
{
	size_t wanted = world->rank == 0 ? (size_t)world->size : 0;

	if (result->watch_count != wanted)
		return error_set(err, STATUS_INTERNAL, "rank %d has %zu watches", world->rank,
				 result->watch_count);
	for (size_t i = 0; i < wanted; i++)
		if (result->watches[i].device[5] != (char)('0' + i) ||
		    result->watches[i].readings == 0)
			return error_set(err, STATUS_INTERNAL, "watch %zu: %s, %zu readings", i,
					 result->watches[i].device, result->watches[i].readings);
	return STATUS_OK;
}

static enum status run_sound(struct device *device, struct world *world, void *context,
			     struct error *err)
{
	const struct setting_up *s = context;

	for (size_t i = 0; i < s->plan.case_count && err->status == STATUS_OK; i++) {
		struct case_result result;

		if (run_case(&s->plan.cases[i], device, world, &result, err) == STATUS_OK)
			check_watches(&result, world, err);
		if (err->status == STATUS_OK &&
		    (metric(&result, "burn.wrong") != 0 || !(metric(&result, "burn.rounds") > 0) ||
		     !(metric(&result, "burn.verified") > 0) || !result.metrics[0].headline ||
		     !(result.metrics[0].value > 0) || !result.verification.done))
			error_set(err, STATUS_INTERNAL, "%g wrong in %g rounds",
				  metric(&result, "burn.wrong"), metric(&result, "burn.rounds"));
		error_prefix(err, "%s", s->plan.cases[i].id);
		case_result_release(&result);
	}
	return err->status;
}

static void nothing_is_wrong_where_nothing_is(void **state)
{
	struct setting_up s;

	(void)state;
	for (int ranks = 1; ranks <= 3; ranks += 2) {
		plan_from(&s, SMALL, ranks);
		assert_int_equal(s.plan.case_count, 5);
		assert_ranks(run_ranks(ranks, run_sound, &s), ranks, STATUS_OK, "all loads");
		plan_done(&s);
	}
}

/* All that were planted, on every rank. */
static enum status run_planted(struct device *device, struct world *world, void *context,
			       struct error *err)
{
	const struct setting_up *s = context;

	for (size_t i = 0; i < s->plan.case_count && err->status == STATUS_OK; i++) {
		struct error own = ERROR_NONE;
		struct case_result result;
		enum status status = run_case(&s->plan.cases[i], device, world, &result, &own);
		double planted = s->plant * world->size;

		if (status != STATUS_MISMATCH || metric(&result, "burn.planted") != planted ||
		    metric(&result, "burn.found") != 1 || metric(&result, "burn.wrong") != planted)
			error_set(err, STATUS_INTERNAL,
				  "%s: %s, %g planted, %g found, %g wrong: %s", s->plan.cases[i].id,
				  status_name(status), metric(&result, "burn.planted"),
				  metric(&result, "burn.found"), metric(&result, "burn.wrong"),
				  own.message);
		for (int r = 0; r < world->size; r++) {
			char name[48];

			snprintf(name, sizeof(name), "host:%d: %d wrong words", r, s->plant);
			if (!strstr(own.message, name))
				error_set(err, STATUS_INTERNAL, "does not name %s: %s", name,
					  own.message);
		}
		case_result_release(&result);
	}
	return err->status;
}

static void plant(const char *loads, int count, int ranks)
{
	struct setting_up s;
	char ini[256];

	snprintf(ini, sizeof(ini), SMALL "loads = %s\nplant = %d\n", loads, count);
	plan_from(&s, ini, ranks);
	s.plant = count;
	assert_ranks(run_ranks(ranks, run_planted, &s), ranks, STATUS_OK, loads);
	plan_done(&s);
}

static void every_planted_bit_is_found(void **state)
{
	(void)state;
	plant("fp32, fp16, fp64, memory", 30, 1);
	plant("fp32, memory", 10, 2);
	plant("links", 8, 1);
	plant("links", 3, 2); /* the ranks wait for each other in every round */
}

/*
 * As many wrong words as bits were turned without the suite's knowledge, on the device where they
 * were.
 */
static enum status run_faulty(struct device *device, struct world *world, void *context,
			      struct error *err)
{
	const struct setting_up *s = context;
	struct error own = ERROR_NONE;
	struct case_result result;
	double turned, wrong;
	enum status status;
	char name[24];

	spy_on(device, world);
	status = run_case(&s->plan.cases[0], device, world, &result, &own);
	wrong = metric(&result, "burn.wrong");
	/* Bits turned after the last sweep of a slice are never read again. */
	turned = world_sum(world, (double)spy.turned);
	if (status != STATUS_MISMATCH || turned < 1 ||
	    (spy.fault == PRODUCT_MISSING ? wrong < turned : wrong != turned))
		error_set(err, STATUS_INTERNAL, "%s: %g turned, %g wrong: %s", status_name(status),
			  turned, wrong, own.message);
	snprintf(name, sizeof(name), "host:%d: ", spy.rank);
	if (!strstr(own.message, name) || strstr(own.message, spy.rank ? "host:0:" : "host:1:"))
		error_set(err, STATUS_INTERNAL, "does not name %s alone: %s", name, own.message);
	if (world->rank == 0 &&
	    (result.watches[spy.rank].wrong == 0 || result.watches[1 - spy.rank].wrong != 0))
		error_set(err, STATUS_INTERNAL, "the watches blame another device");
	case_result_release(&result);
	return err->status;
}

static void every_fault_is_found_and_located(void **state)
{
	static const struct {
		const char *load;
		int fault;
	} rows[] = { { "memory", MEMORY },
		     { "fp32", PRODUCT },
		     { "fp64", PRODUCT_MISSING },
		     { "links", TRANSFER },
		     { "links", SUM } };
	struct setting_up s;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char ini[256];

		snprintf(ini, sizeof(ini), SMALL "loads = %s\n", rows[i].load);
		plan_from(&s, ini, 2);
		spy.fault = rows[i].fault;
		spy.rank = (int)i % 2;
		assert_ranks(run_ranks(2, run_faulty, &s), 2, STATUS_OK, rows[i].load);
		plan_done(&s);
	}
}

#define STREAMS_MOST 64

/* Streams that were given up. They stay, so that none has the address of another. */
static struct {
	struct stream *gone[STREAMS_MOST];
	size_t count;
	bool used; /* one of them */
} streams;

static void keep_stream(struct stream *stream)
{
	if (stream && streams.count < STREAMS_MOST)
		streams.gone[streams.count++] = stream;
}

static enum status record_on_living(struct event *event, struct stream *stream, struct error *err)
{
	for (size_t i = 0; i < streams.count; i++)
		streams.used |= streams.gone[i] == stream;
	return spy.sound->event_record(event, stream, err);
}

static enum status copies_only(struct device *device, enum transport transport,
			       const struct device_set *devices, struct error *err)
{
	if (transport != TRANSPORT_HOST_COPY)
		return error_set(err, STATUS_UNSUPPORTED, "not here");
	return spy.sound->transport_usable(device, transport, devices, err);
}

/* As a worker carries cases out: the session stays. */
static enum status run_slices(struct device *device, struct world *world, void *context,
			      struct error *err)
{
	const struct setting_up *s = context;
	void *state = s->plan.cases[0].suite->open_state();

	spy_on(device, world);
	spy.table.transport_usable = copies_only;
	spy.table.stream_destroy = keep_stream;
	spy.table.event_record = record_on_living;
	for (size_t i = 0; i < s->plan.case_count && err->status == STATUS_OK; i++) {
		const struct plan_case *c = &s->plan.cases[i];
		struct sampling rules = sampling_from(c->section);
		struct case_result result;
		struct run run = { .c = c,
				   .devices = &device,
				   .device_count = 1,
				   .world = world,
				   .suite_state = state,
				   .result = &result };

		case_result_init(&result);
		run.sampler = (struct sampler){ .rules = &rules, .world = world, .device = device };
		c->suite->run(&run, err);
		case_result_release(&result);
	}
	s->plan.cases[0].suite->close_state(state);
	device->backend = spy.sound;
	for (size_t i = 0; i < streams.count; i++)
		spy.sound->stream_destroy(streams.gone[i]);
	if (err->status == STATUS_OK && (streams.used || !streams.count))
		error_set(err, STATUS_INTERNAL, "a stream of %zu was used when it was gone",
			  streams.count);
	return err->status;
}

/*
 * Without a library ranks exchange by copies, whose order a communicator keeps from stream to
 * stream.
 */
static void slices_share_a_communicator_and_no_stream(void **state)
{
	struct setting_up s;

	(void)state;
	plan_from(&s, SMALL "loads = links\nslice = 25ms\n", 2);
	assert_int_equal(s.plan.case_count, 4);
	assert_ranks(run_ranks(2, run_slices, &s), 2, STATUS_OK, "slices by copies");
	plan_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slices_take_turns),
		cmocka_unit_test(says_what_cannot_be_planned),
		cmocka_unit_test(nothing_is_wrong_where_nothing_is),
		cmocka_unit_test(every_planted_bit_is_found),
		cmocka_unit_test(every_fault_is_found_and_located),
		cmocka_unit_test(slices_share_a_communicator_and_no_stream),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
