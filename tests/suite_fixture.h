/*
 * Runs cases of real suites in this process on the host backend, through a spy: a backend that
 * passes everything on, counts what is open, and can be told to spoil a result or to fail at the
 * n-th call.
 */
#ifndef GPUPROOF_TESTS_SUITE_FIXTURE_H
#define GPUPROOF_TESTS_SUITE_FIXTURE_H

#include <math.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/memory.h"
#include "device/backend.h"
#include "kernels/generator.h"
#include "measure/run.h"
#include "plan/config.h"
#include "plan/plan.h"
#include "src/plan/suite.h"

#ifndef FIXTURE_DEVICES
#define FIXTURE_DEVICES 2
#endif
#define FIXTURE_SEED 20261120

/* What the spy saw and what it is told to do. */
static struct spy {
	const struct backend *real;
	struct backend table;
	_Atomic int
		live_blocks; /* as of threads that allocate at once; so are the calls and bytes */
	int live_streams, live_events;
	_Atomic uint64_t device_bytes[FIXTURE_DEVICES], device_peak[FIXTURE_DEVICES];
	_Atomic int calls;
	int fail_at;            /* the call that fails; 0: none */
	int copies, spoil_copy; /* copies from this one on have a wrong byte; 0: none */
	size_t spoil_bytes;     /* only copies of this size count */
	int peer_copies, all_copies;
	int products, spoil_product; /* products from this one on are spoilt */
	enum { SPOIL_ELEMENT, SPOIL_ROW_UNWRITTEN, SPOIL_DEPTH } spoil;
	bool grants_everything, lost_after_refusal;
	_Atomic bool refused;
} spy;

/* The n-th call fails as a device does. */
static enum status spy_call(const char *name, struct error *err)
{
	if (++spy.calls != spy.fail_at)
		return STATUS_OK;
	return error_set(err, STATUS_DEVICE, "%s: told to fail", name);
}

static void spy_peak(struct device *device, int64_t change)
{
	int i = device->info.index;
	uint64_t now = (spy.device_bytes[i] += (uint64_t)change);

	if (now > spy.device_peak[i])
		spy.device_peak[i] = now;
}

static enum status spy_alloc(struct device *device, enum allocator allocator, size_t bytes,
			     struct stream *stream, void **out, struct error *err)
{
	size_t granted = spy.grants_everything && bytes > 1 << 30 ? 4096 : bytes;
	enum status status = spy_call("memory_alloc", err);

	if (status == STATUS_OK && spy.refused && spy.lost_after_refusal && bytes <= 1 << 20)
		status = error_set(err, STATUS_DEVICE, "lost");
	if (status == STATUS_OK)
		status = spy.real->memory_alloc(device, allocator, granted, stream, out, err);
	if (status != STATUS_OK) {
		spy.refused = true;
		return status;
	}
	spy.live_blocks++;
	if (allocator_on_device(allocator))
		spy_peak(device, (int64_t)bytes);
	return STATUS_OK;
}

static enum status spy_free(struct device *device, enum allocator allocator, void *memory,
			    size_t bytes, struct stream *stream, struct error *err)
{
	size_t granted = spy.grants_everything && bytes > 1 << 30 ? 4096 : bytes;

	if (memory) {
		spy.live_blocks--;
		if (allocator_on_device(allocator))
			spy_peak(device, -(int64_t)bytes);
	}
	return spy.real->memory_free(device, allocator, memory, granted, stream, err);
}

static enum status spy_stream_create(struct device *device, bool high, struct stream **out,
				     struct error *err)
{
	enum status status = spy_call("stream_create", err);

	if (status == STATUS_OK)
		status = spy.real->stream_create(device, high, out, err);
	spy.live_streams += status == STATUS_OK;
	return status;
}

static void spy_stream_destroy(struct stream *stream)
{
	spy.live_streams--;
	spy.real->stream_destroy(stream);
}

static enum status spy_event_create(struct device *device, struct event **out, struct error *err)
{
	enum status status = spy_call("event_create", err);

	if (status == STATUS_OK)
		status = spy.real->event_create(device, out, err);
	spy.live_events += status == STATUS_OK;
	return status;
}

static void spy_event_destroy(struct event *event)
{
	spy.live_events--;
	spy.real->event_destroy(event);
}

/* A wrong word in the middle of the copy: another copy behind it overwrites that word. */
static enum status spy_copy(struct stream *stream, void *to, const void *from, size_t bytes,
			    struct error *err)
{
	static const uint64_t wrong = UINT64_C(0x5ca1ab1e0ddba11f);
	size_t middle = bytes / 2 & ~(sizeof(wrong) - 1);
	enum status status = spy_call("copy", err);

	__atomic_fetch_add(&spy.all_copies, 1,
			   __ATOMIC_RELAXED); /* suites may copy from several threads */
	if (status == STATUS_OK)
		status = spy.real->copy(stream, to, from, bytes, err);
	if (status == STATUS_OK && spy.spoil_copy && bytes == spy.spoil_bytes &&
	    ++spy.copies >= spy.spoil_copy)
		status = spy.real->copy(stream, (char *)to + middle, &wrong, sizeof(wrong), err);
	return status;
}

static enum status spy_copy_peer(struct stream *stream, void *to, struct device *to_device,
				 const void *from, struct device *from_device, size_t bytes,
				 struct error *err)
{
	(void)to_device;
	(void)from_device;
	spy.peer_copies++;
	return spy_copy(stream, to, from, bytes, err);
}

static enum status spy_memory_set(struct stream *stream, void *memory, int byte, size_t bytes,
				  struct error *err)
{
	enum status status = spy_call("memory_set", err);

	return status == STATUS_OK ? spy.real->memory_set(stream, memory, byte, bytes, err)
				   : status;
}

static enum status spy_synchronize(struct stream *stream, struct error *err)
{
	enum status status = spy_call("stream_synchronize", err);

	return status == STATUS_OK ? spy.real->stream_synchronize(stream, err) : status;
}

static enum status spy_gemm(struct stream *stream, const struct gemm *gemm, struct error *err)
{
	static const double zero;
	struct gemm other = *gemm;
	enum status status = spy_call("gemm", err);

	if (status != STATUS_OK)
		return status;
	if (spy.spoil_product == 0 || ++spy.products < spy.spoil_product)
		return spy.real->gemm(stream, gemm, err);
	if (spy.spoil == SPOIL_ROW_UNWRITTEN)
		other.m--;
	if (spy.spoil == SPOIL_DEPTH)
		other.k--;
	status = spy.real->gemm(stream, &other, err);
	if (status == STATUS_OK && spy.spoil == SPOIL_ELEMENT)
		status = spy.real->copy(stream,
					(char *)gemm->c +
						(gemm->m * gemm->n / 2 + 1) *
							(int64_t)precision_bytes(gemm->precision),
					&zero, precision_bytes(gemm->precision), err);
	return status;
}

struct fixture {
	struct backend_list backends;
	struct device *devices[FIXTURE_DEVICES];
	struct device_info infos[FIXTURE_DEVICES];
	struct config config;
	struct plan plan;
};

/* Opens the host backend once for a whole test program: real devices, spied on. */
static int fixture_open(void **state)
{
	struct backend_options options = { .host_devices = FIXTURE_DEVICES };
	struct fixture *f = xcalloc(1, sizeof(*f));
	struct error err = ERROR_NONE;

	backends_open(&f->backends, "host", &options);
	assert_int_equal(f->backends.count, 1);
	spy.real = f->backends.backends[0];
	for (int i = 0; i < FIXTURE_DEVICES; i++) {
		if (spy.real->device_open(i, &f->devices[i], &err) != STATUS_OK)
			fail_msg("%s", err.message);
		f->devices[i]->backend = &spy.table;
		f->infos[i] = f->devices[i]->info;
	}
	*state = f;
	return 0;
}

static int fixture_close(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < FIXTURE_DEVICES; i++)
		spy.real->device_close(f->devices[i]);
	backends_close(&f->backends);
	free(f);
	return 0;
}

static void spy_reset(void)
{
	spy = (struct spy){ .real = spy.real, .table = *spy.real };
	spy.table.memory_alloc = spy_alloc;
	spy.table.memory_free = spy_free;
	spy.table.stream_create = spy_stream_create;
	spy.table.stream_destroy = spy_stream_destroy;
	spy.table.event_create = spy_event_create;
	spy.table.event_destroy = spy_event_destroy;
	spy.table.copy = spy_copy;
	spy.table.copy_peer = spy_copy_peer;
	spy.table.memory_set = spy_memory_set;
	spy.table.stream_synchronize = spy_synchronize;
	spy.table.gemm = spy_gemm;
}

static int fixture_reset(void **state)
{
	(void)state;
	spy_reset();
	return 0;
}

/* Of tests that open one, before the fixture. */
static struct fork_server *fixture_fork_server;

/* The plan that `ini` gives on these devices. */
static inline void plan_from(struct fixture *f, const char *ini, const struct device_info *infos,
			     size_t count)
{
	static const struct override none;
	struct text errors = TEXT_EMPTY;
	struct error err = ERROR_NONE;

	if (config_parse(&f->config, "test.ini", ini, strlen(ini), &none, 0, &errors) != STATUS_OK)
		fail_msg("%s", errors.data);
	text_release(&errors);
	if (plan_build(&f->plan, &f->config, infos, count, &err) != STATUS_OK)
		fail_msg("%s", err.message);
}

static inline void plan_done(struct fixture *f)
{
	plan_release(&f->plan);
	config_release(&f->config);
}

/* Carries out one case as a worker does; `result` is to be released. */
static inline enum status run_case(struct fixture *f, const struct plan_case *c,
				   struct case_result *result, struct error *err)
{
	struct device *devices[FIXTURE_DEVICES];
	struct sampling rules = sampling_from(c->section);
	struct run run = { .c = c,
			   .devices = devices,
			   .device_count = c->device_count,
			   .fork_server = fixture_fork_server,
			   .seed = generator_bits(FIXTURE_SEED, c->index),
			   .run_seed = FIXTURE_SEED,
			   .result = result };
	enum status status;

	*result = (struct case_result){ 0 };
	for (size_t i = 0; i < c->device_count; i++)
		devices[i] = f->devices[c->devices[i]];
	run.sampler = (struct sampler){ .rules = &rules, .device = devices[0] };
	case_parameters_fill(c, result);
	status = c->suite->run(&run, err);
	if (c->suite->release)
		c->suite->release();
	return status;
}

/* run_case() of the only case of `ini`, with whatever the spy was told to do. */
static inline enum status run_only_case(struct fixture *f, const char *ini,
					struct case_result *result, struct error *err)
{
	enum status status;

	*err = (struct error)ERROR_NONE;
	plan_from(f, ini, f->infos, FIXTURE_DEVICES);
	assert_true(f->plan.case_count > 0);
	status = run_case(f, &f->plan.cases[0], result, err);
	plan_done(f);
	return status;
}

static void assert_nothing_open(const char *id)
{
	if (spy.live_blocks || spy.live_streams || spy.live_events)
		fail_msg("%s left %d blocks, %d streams, %d events", id, spy.live_blocks,
			 spy.live_streams, spy.live_events);
}

#endif
