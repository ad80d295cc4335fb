/* Memory of every allocator, copies between them, and what a failed allocation leaves behind. */
#include "gpu_check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "kernels/convolution/pooling.h"
#include "kernels/generator.h"
#include "kernels/memory/fill.h"

/* Odd on purpose: the last word is partial. */
#define BYTES ((3u << 20) + 13)

enum status gpu_fill(struct stream *stream, void *memory, size_t bytes, uint64_t seed,
		     struct error *err)
{
	struct fill_arguments fill = {
		.memory = memory, .kind = FILL_BITS, .count = bytes, .seed = seed
	};

	return backend_launch(stream, "fill", &fill, err);
}

enum status gpu_expect(struct stream *stream, const void *memory, size_t bytes, uint64_t seed,
		       struct error *err)
{
	struct device *device = stream->device;
	struct check_fill_arguments check = { .memory = memory, .bytes = bytes, .seed = seed };
	struct fill_mismatch found;
	void *out;

	STEP(backend_memory_alloc(device, ALLOCATOR_PINNED, sizeof(found), NULL, &out, err));
	check.out = out;
	*check.out = (struct fill_mismatch){ 0, UINT64_MAX, 0, 0 };
	STEP(backend_launch(stream, "check_fill", &check, err));
	STEP(backend_stream_synchronize(stream, err));
	found = *check.out;
	STEP(backend_memory_free(device, ALLOCATOR_PINNED, out, sizeof(found), NULL, err));
	if (found.count == 0)
		return STATUS_OK;
	return error_set(err, STATUS_MISMATCH,
			 "%llu wrong words, the first at byte %llu: expected %016llx, got %016llx",
			 (unsigned long long)found.count, (unsigned long long)found.index,
			 (unsigned long long)found.expected, (unsigned long long)found.got);
}

enum status host_expect(const void *memory, size_t bytes, uint64_t seed, struct error *err)
{
	const unsigned char *p = memory;

	for (size_t i = 0; i < bytes; i++) {
		unsigned char expected =
			(unsigned char)(generator_bits(seed, i / 8) >> (i % 8 * 8));

		if (p[i] != expected)
			return error_set(err, STATUS_MISMATCH, "byte %zu is %02x, expected %02x", i,
					 p[i], expected);
	}
	return STATUS_OK;
}

/* Device memory is written by a kernel, host memory by a copy: each must come back whole. */
static enum status round_trip(struct check_context *context, enum allocator allocator,
			      struct error *err)
{
	struct stream *stream = context->stream;
	struct device *device = context->device;
	uint64_t seed = 100 + allocator;
	void *memory, *source, *back;

	STEP(backend_memory_alloc(device, allocator, BYTES, stream, &memory, err));
	STEP(backend_memory_alloc(device, ALLOCATOR_DEVICE, BYTES, NULL, &source, err));
	STEP(backend_memory_alloc(device, ALLOCATOR_PAGEABLE, BYTES, NULL, &back, err));
	STEP(gpu_fill(stream, source, BYTES, seed, err));
	STEP(backend_copy(stream, memory, source, BYTES, err));
	STEP(backend_memory_set(stream, source, 0, BYTES, err));
	STEP(backend_copy(stream, source, memory, BYTES, err));
	STEP(gpu_expect(stream, source, BYTES, seed, err));
	STEP(backend_copy(stream, back, memory, BYTES, err));
	STEP(backend_stream_synchronize(stream, err));
	STEP(host_expect(back, BYTES, seed, err));
	STEP(backend_memory_free(device, allocator, memory, BYTES, stream, err));
	STEP(backend_memory_free(device, ALLOCATOR_DEVICE, source, BYTES, NULL, err));
	STEP(backend_memory_free(device, ALLOCATOR_PAGEABLE, back, BYTES, NULL, err));
	return backend_memory_free(device, allocator, NULL, 0, stream, err);
}

static enum status allocators_and_copies(struct check_context *context, struct error *err)
{
	int count = 0;

	for (int a = 0; a < ALLOCATOR_COUNT; a++) {
		struct error own = ERROR_NONE;
		enum status status = round_trip(context, (enum allocator)a, &own);

		if (status != STATUS_OK && status != STATUS_UNSUPPORTED)
			return error_set(err, status, "%s: %.300s",
					 allocator_name((enum allocator)a), own.message);
		count += status == STATUS_OK;
	}
	snprintf(context->detail, sizeof(context->detail),
		 "%d of %d allocators, %u bytes there and back", count, ALLOCATOR_COUNT, BYTES);
	return STATUS_OK;
}

/* One flipped bit must be found, and found at its place. */
static enum status wrong_byte_is_found(struct check_context *context, struct error *err)
{
	struct error found = ERROR_NONE;
	unsigned char *memory;
	void *p;

	STEP(backend_memory_alloc(context->device, ALLOCATOR_DEVICE, BYTES, NULL, &p, err));
	memory = p;
	STEP(gpu_fill(context->stream, memory, BYTES, 7, err));
	STEP(backend_copy(context->stream, memory + BYTES - 1, memory + BYTES - 2, 1, err));
	STEP(backend_copy(context->stream, memory + 8001, memory + 8000, 1, err));
	if (gpu_expect(context->stream, memory, BYTES, 7, &found) != STATUS_MISMATCH)
		return error_set(err, STATUS_MISMATCH, "two wrong bytes were not noticed");
	if (!strstr(found.message, "2 wrong words, the first at byte 8000:"))
		return error_set(err, STATUS_MISMATCH, "found something else: %.300s",
				 found.message);
	return backend_memory_free(context->device, ALLOCATOR_DEVICE, memory, BYTES, NULL, err);
}

/* Freed pool memory stays with the pool until memory_trim(). */
static enum status pool_keeps_and_trims(struct check_context *context, struct error *err)
{
	const size_t bytes = 256u << 20;
	uint64_t before, kept, trimmed, total;
	void *memory;

	STEP(backend_memory_trim(context->device, err));
	STEP(backend_device_memory(context->device, &before, &total, err));
	STEP(backend_memory_alloc(context->device, ALLOCATOR_POOL, bytes, context->stream, &memory,
				  err));
	STEP(backend_memory_free(context->device, ALLOCATOR_POOL, memory, bytes, context->stream,
				 err));
	STEP(backend_stream_synchronize(context->stream, err));
	STEP(backend_device_memory(context->device, &kept, &total, err));
	STEP(backend_memory_trim(context->device, err));
	STEP(backend_device_memory(context->device, &trimmed, &total, err));
	if (kept + bytes > before || trimmed < kept + bytes)
		return error_set(err, STATUS_MISMATCH,
				 "free memory %llu before, %llu kept, %llu trimmed",
				 (unsigned long long)before, (unsigned long long)kept,
				 (unsigned long long)trimmed);
	return STATUS_OK;
}

/*
 * Rows of odd lengths, packed and unpacked again: between them and after them nothing is touched.
 */
static enum status copies_rows(struct check_context *context, struct error *err)
{
	const size_t rows = 1009, row = 611, stride = 1027, packed = rows * row;
	struct stream *stream = context->stream;
	struct device *device = context->device;
	unsigned char *wide, *expected;
	void *narrow, *to;

	STEP(backend_memory_alloc(device, ALLOCATOR_DEVICE, packed, NULL, &narrow, err));
	STEP(backend_memory_alloc(device, ALLOCATOR_DEVICE, rows * stride, NULL, &to, err));
	STEP(backend_memory_alloc(device, ALLOCATOR_PAGEABLE, rows * stride, NULL, (void **)&wide,
				  err));
	STEP(backend_memory_alloc(device, ALLOCATOR_PAGEABLE, packed, NULL, (void **)&expected,
				  err));
	STEP(gpu_fill(stream, narrow, packed, 31, err));
	STEP(backend_memory_set(stream, to, 0xa5, rows * stride, err));
	STEP(backend_copy_rows(stream, to, stride, narrow, row, row, rows, err));
	STEP(backend_copy(stream, wide, to, rows * stride, err));
	STEP(backend_copy(stream, expected, narrow, packed, err));
	/* And back, into memory that has something else by then. */
	STEP(backend_memory_set(stream, narrow, 0, packed, err));
	STEP(backend_copy_rows(stream, narrow, row, to, stride, row, rows, err));
	STEP(gpu_expect(stream, narrow, packed, 31, err));
	for (size_t i = 0; i < rows * stride; i++) {
		unsigned char byte =
			i % stride < row ? expected[i / stride * row + i % stride] : 0xa5;

		if (wide[i] != byte)
			return error_set(err, STATUS_MISMATCH, "byte %zu is %02x, expected %02x", i,
					 wide[i], byte);
	}
	STEP(backend_memory_free(device, ALLOCATOR_PAGEABLE, wide, rows * stride, NULL, err));
	STEP(backend_memory_free(device, ALLOCATOR_PAGEABLE, expected, packed, NULL, err));
	STEP(backend_memory_free(device, ALLOCATOR_DEVICE, to, rows * stride, NULL, err));
	return backend_memory_free(device, ALLOCATOR_DEVICE, narrow, packed, NULL, err);
}

static enum status refused(struct check_context *context, enum allocator allocator, size_t bytes,
			   struct error *err)
{
	struct error refusal = ERROR_NONE;
	void *memory;
	enum status status = backend_memory_alloc(context->device, allocator, bytes,
						  context->stream, &memory, &refusal);

	if (status != STATUS_NO_MEMORY || !strstr(refusal.message, "cudaErrorMemoryAllocation"))
		return error_set(err, STATUS_MISMATCH, "%s of %zu bytes: %s %.300s",
				 allocator_name(allocator), bytes, status_name(status),
				 refusal.message);
	snprintf(context->detail, sizeof(context->detail), "%.200s", refusal.message);
	return STATUS_OK;
}

static enum status works_after_a_failed_allocation(struct check_context *context, struct error *err)
{
	uint64_t available, total;

	STEP(backend_device_memory(context->device, &available, &total, err));
	STEP(refused(context, ALLOCATOR_DEVICE, 2 * total, err));
	STEP(round_trip(context, ALLOCATOR_DEVICE, err));
	if (!(context->device->info.capabilities & DEVICE_HAS_POOLS))
		return STATUS_OK;
	STEP(refused(context, ALLOCATOR_POOL, 2 * total, err));
	return round_trip(context, ALLOCATOR_POOL, err);
}

static enum status peer_copy(struct check_context *context, struct device *peer, bool access,
			     struct error *err)
{
	struct device *device = context->device;
	uint64_t seed = access ? 11 : 12;
	struct stream *there;
	void *from, *to;

	STEP(backend_peer_access(device, peer, access, err));
	STEP(backend_peer_access(device, peer, access, err)); /* asked for twice is no error */
	STEP(backend_stream_create(peer, false, &there, err));
	STEP(backend_memory_alloc(device, ALLOCATOR_DEVICE, BYTES, NULL, &from, err));
	STEP(backend_memory_alloc(peer, ALLOCATOR_DEVICE, BYTES, NULL, &to, err));
	STEP(gpu_fill(context->stream, from, BYTES, seed, err));
	STEP(backend_copy_peer(context->stream, to, peer, from, device, BYTES, err));
	STEP(backend_stream_synchronize(context->stream, err));
	STEP(gpu_expect(there, to, BYTES, seed, err));
	backend_stream_destroy(there);
	STEP(backend_memory_free(device, ALLOCATOR_DEVICE, from, BYTES, NULL, err));
	return backend_memory_free(peer, ALLOCATOR_DEVICE, to, BYTES, NULL, err);
}

static enum status peers(struct check_context *context, struct error *err)
{
	int direct = 0;

	if (context->device_count < 2)
		return error_set(err, STATUS_UNSUPPORTED, "there is one GPU");
	for (int i = 0; i < context->device_count; i++) {
		struct device *peer = context->devices[i];

		if (peer == context->device)
			continue;
		STEP(peer_copy(context, peer, false, err));
		if (!(device_bits_has(&context->device->info.peers, i)))
			continue;
		STEP(peer_copy(context, peer, true, err));
		STEP(backend_peer_access(context->device, peer, false, err));
		direct++;
	}
	snprintf(context->detail, sizeof(context->detail), "%d peers, %d with direct access",
		 context->device_count - 1, direct);
	return STATUS_OK;
}

static enum status telemetry(struct check_context *context, struct error *err)
{
	struct telemetry t;

	STEP(backend_telemetry(context->device, &t, err));
	snprintf(context->detail, sizeof(context->detail),
		 "SM %.0f MHz, memory %.0f MHz, %.0f W, %.0f degC, throttle %#llx, ECC %lld/%lld, "
		 "PCIe %lld x%lld, replays %lld, NVLink errors %lld, Xid %lld",
		 t.sm_clock_hz / 1e6, t.memory_clock_hz / 1e6, t.power_watts, t.temperature_celsius,
		 (unsigned long long)t.throttle_reasons, (long long)t.ecc_corrected,
		 (long long)t.ecc_uncorrected, (long long)t.pcie_generation,
		 (long long)t.pcie_width, (long long)t.pcie_replays, (long long)t.nvlink_errors,
		 (long long)t.xid_errors);
	if (!(t.sm_clock_hz > 0) && !(t.temperature_celsius > 0))
		return error_set(err, STATUS_MISMATCH, "neither clock nor temperature: %.200s",
				 context->detail);
	return STATUS_OK;
}

/* The watching thread's calls: the same quantities, and soon enough for its interval. */
static enum status telemetry_quick(struct check_context *context, struct error *err)
{
	const int times = 20;
	struct telemetry all, quick;
	double start, seconds;

	STEP(backend_telemetry(context->device, &all, err));
	start = clock_seconds();
	for (int i = 0; i < times; i++)
		STEP(backend_telemetry_quick(context->device, &quick, err));
	seconds = (clock_seconds() - start) / times;
	snprintf(context->detail, sizeof(context->detail), "%.0f us a reading", 1e6 * seconds);
	if (isnan(all.sm_clock_hz) != isnan(quick.sm_clock_hz) ||
	    isnan(all.temperature_celsius) != isnan(quick.temperature_celsius) ||
	    (all.throttle_reasons < 0) != (quick.throttle_reasons < 0) || quick.ecc_corrected != -1)
		return error_set(err, STATUS_MISMATCH,
				 "quick and full telemetry know different things");
	if (seconds > 10e-3)
		return error_set(err, STATUS_MISMATCH, "%s: too slow to watch with",
				 context->detail);
	return STATUS_OK;
}

#define ENERGY_SECONDS 0.55

/* The counter never falls, changes as often as it says, and counts no more than a GPU can take. */
static enum status energy(struct check_context *context, struct error *err)
{
	double start = clock_seconds(), seconds = 0, longest = 0, changed = NAN;
	struct energy first, before, now;
	int updates = 0, readings = 0;

	STEP(backend_energy(context->device, &first, err));
	for (before = first; seconds < ENERGY_SECONDS; before = now, readings++) {
		STEP(backend_energy(context->device, &now, err));
		seconds = clock_seconds() - start;
		if (now.joules < before.joules)
			return error_set(err, STATUS_MISMATCH, "fell from %.3f to %.3f J",
					 before.joules, now.joules);
		if (now.joules == before.joules)
			continue;
		longest = fmax(longest, seconds - changed);
		changed = seconds;
		updates++;
	}
	snprintf(context->detail, sizeof(context->detail),
		 "%.0f W, %d updates in %.2f s, the longest after %.0f ms, %.1f ms a reading",
		 (now.joules - first.joules) / seconds, updates, seconds, 1e3 * longest,
		 1e3 * seconds / readings);
	if (updates < 2 || longest > 2 * now.update_seconds ||
	    now.joules - first.joules > 2000 * (seconds + now.update_seconds))
		return error_set(err, STATUS_MISMATCH, "%s; said to be updated every %.0f ms",
				 context->detail, 1e3 * now.update_seconds);
	return STATUS_OK;
}

/* As many as the links have; an errors' count only grows. */
static enum status link_errors(struct check_context *context, struct error *err)
{
	int64_t first, second;
	double start = clock_seconds();

	STEP(backend_link_errors(context->device, &first, err));
	snprintf(context->detail, sizeof(context->detail), "%lld, %d links, %.1f ms a reading",
		 (long long)first, context->device->info.nvlink_count,
		 1e3 * (clock_seconds() - start));
	STEP(backend_link_errors(context->device, &second, err));
	if (second < first || (first >= 0) != (context->device->info.nvlink_count > 0))
		return error_set(err, STATUS_MISMATCH, "%s, then %lld", context->detail,
				 (long long)second);
	return STATUS_OK;
}

/* Every accounting source that exists sees an allocation, and the pool's sees its own. */
static enum status memory_view(struct check_context *context, struct error *err)
{
	const uint64_t bytes = UINT64_C(256) << 20, slack = UINT64_C(4) << 20;
	struct memory_view before, held, pooled;
	void *memory, *pool = NULL;

	STEP(backend_memory_view(context->device, &before, err));
	STEP(backend_memory_alloc(context->device, ALLOCATOR_DEVICE, bytes, NULL, &memory, err));
	STEP(backend_memory_view(context->device, &held, err));
	STEP(backend_memory_free(context->device, ALLOCATOR_DEVICE, memory, bytes, NULL, err));
	snprintf(context->detail, sizeof(context->detail),
		 "MiB: device %llu, runtime %llu, process %llu (0: unknown here)",
		 (unsigned long long)held.device_used >> 20,
		 (unsigned long long)held.runtime_used >> 20,
		 (unsigned long long)held.process_used >> 20);
	if (held.runtime_used + slack < before.runtime_used + bytes ||
	    (held.device_used && held.device_used + slack < before.device_used + bytes) ||
	    (held.process_used && held.process_used + slack < before.process_used + bytes))
		return error_set(err, STATUS_MISMATCH, "a ruler did not see 256 MiB: %.200s",
				 context->detail);
	if (!(context->device->info.capabilities & DEVICE_HAS_POOLS))
		return STATUS_OK;
	STEP(backend_memory_alloc(context->device, ALLOCATOR_POOL, bytes, NULL, &pool, err));
	STEP(backend_memory_view(context->device, &pooled, err));
	STEP(backend_memory_free(context->device, ALLOCATOR_POOL, pool, bytes, NULL, err));
	STEP(backend_device_synchronize(context->device, err));
	STEP(backend_memory_trim(context->device, err));
	if (pooled.pool_used < bytes || pooled.pool_reserved < bytes ||
	    pooled.pool_used_high < pooled.pool_used)
		return error_set(err, STATUS_MISMATCH, "the pool's attributes miss 256 MiB");
	return STATUS_OK;
}

/* The first and the last 256 numbers of an image of both. */
static enum status same_ends(struct check_context *context, const float *a, const float *b,
			     uint64_t elements, struct error *err)
{
	float x[256], y[256];

	for (int end = 0; end < 2; end++) {
		uint64_t at = end ? elements - ARRAY_SIZE(x) : 0;

		STEP(backend_copy(context->stream, x, a + at, sizeof(x), err));
		STEP(backend_copy(context->stream, y, b + at, sizeof(y), err));
		STEP(backend_stream_synchronize(context->stream, err));
		for (size_t i = 0; i < ARRAY_SIZE(x); i++)
			if (!(x[i] == y[i]))
				return error_set(err, STATUS_MISMATCH,
						 "number %llu is %g, expected %g",
						 (unsigned long long)(at + i), (double)y[i],
						 (double)x[i]);
	}
	return STATUS_OK;
}

/* Pooling takes a batch in slices that 31 bits count: three images of 4 GiB, windows of a pixel. */
static enum status pooling_in_slices(struct check_context *context, struct error *err)
{
	const struct pooling_shape s = { PRECISION_FP32, 3, 1 << 15, 1 << 14, 2, 1, 1, 0, 0 };
	uint64_t elements = pooling_in_elements(&s), bytes = 4 * elements, available, total;
	void *x, *y, *dx;

	STEP(backend_device_memory(context->device, &available, &total, err));
	if (available < 3 * bytes + (1u << 30))
		return error_set(err, STATUS_UNSUPPORTED, "needs 37 GiB of device memory");
	STEP(backend_memory_alloc(context->device, ALLOCATOR_DEVICE, bytes, NULL, &x, err));
	STEP(backend_memory_alloc(context->device, ALLOCATOR_DEVICE, bytes, NULL, &y, err));
	STEP(backend_memory_alloc(context->device, ALLOCATOR_DEVICE, bytes, NULL, &dx, err));
	STEP(gpu_fill(context->stream, x, bytes, 5, err));
	STEP(backend_launch(context->stream, "pooling_forward",
			    &(struct pooling_forward_arguments){ s, x, y }, err));
	STEP(gpu_expect(context->stream, y, bytes, 5, err));
	STEP(backend_launch(
		context->stream, "fill",
		&(struct fill_arguments){
			.memory = y, .kind = FILL_FP32, .count = elements, .seed = 6, .scale = 1 },
		err));
	STEP(backend_launch(context->stream, "pooling_backward",
			    &(struct pooling_backward_arguments){ s, x, y, dx }, err));
	for (unsigned i = 0; i < s.batch; i++) {
		uint64_t each = elements / s.batch;

		STEP(same_ends(context, (const float *)y + i * each, (const float *)dx + i * each,
			       each, err));
	}
	STEP(backend_memory_free(context->device, ALLOCATOR_DEVICE, dx, bytes, NULL, err));
	STEP(backend_memory_free(context->device, ALLOCATOR_DEVICE, y, bytes, NULL, err));
	return backend_memory_free(context->device, ALLOCATOR_DEVICE, x, bytes, NULL, err);
}

const struct check memory_checks[] = {
	{ "memory view", memory_view },
	{ "allocators and copies", allocators_and_copies },
	{ "copies of rows", copies_rows },
	{ "wrong byte is found", wrong_byte_is_found },
	{ "pool keeps and trims", pool_keeps_and_trims },
	{ "after failed allocation", works_after_a_failed_allocation },
	{ "pooling in slices", pooling_in_slices },
	{ 0 },
};

const struct check node_checks[] = {
	{ "telemetry", telemetry },
	{ "link errors", link_errors },
	{ "telemetry quick", telemetry_quick },
	{ "energy counter", energy },
	{ "peers", peers },
	{ 0 },
};
