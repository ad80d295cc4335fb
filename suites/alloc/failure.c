/* Cost of a request that does not fit, and a check that the device is unchanged after it. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/units.h"
#include "kernels/generator.h"
#include "kernels/memory/fill.h"
#include "suites/alloc/alloc.h"
#include "suites/shared/buffers.h"

/* Memory that the driver may keep after the first failure; more counts as lost. */
#define MAY_KEEP_BYTES ((int64_t)32 << 20)
/* A full device is filled in pieces of this size, then with smaller ones. */
#define PIECES 64
#define SMALLEST_PIECE ((uint64_t)2 << 20)
/* Size of repeated requests to a full device. */
#define REFUSED_BYTES ((size_t)128 << 20)

static enum status failure_launch_fail(void *state, unsigned batch, struct error *err)
{
	struct blocks *b = state;
	struct error refused = ERROR_NONE;
	enum status status = alloc_blocks_get(b, &refused);
	char size[32];

	(void)batch;
	if (status == STATUS_NO_MEMORY)
		return STATUS_OK;
	if (status != STATUS_OK)
		return error_set(err, status, "%s", refused.message);
	return error_set(err, STATUS_UNSUPPORTED,
			 "an allocation of %s of %s memory succeeded, although it exceeds the "
			 "device's memory",
			 units_size(b->bytes, size, sizeof(size)),
			 alloc_blocks_origin_name(b->origin.kind));
}

static enum status measure_failure(struct run *run, struct blocks *b, struct error *err)
{
	struct workload w = { .state = b,
			      .launch = failure_launch_fail,
			      .clock = CLOCK_HOST,
			      .max_batch = 1,
			      .no_gate = true };
	const struct series *failure;

	if (run_sample(run, &w, "alloc.failure", &failure, err) != STATUS_OK)
		return err->status;
	run_duration(run, "alloc.failure", failure);
	return STATUS_OK;
}

/* A kernel fills `memory`; the CPU compares a copy of it. */
static enum status failure_kernel_works(struct stream *stream, int kind, void *memory, size_t bytes,
					uint64_t seed, struct error *err)
{
	struct fill_arguments fill = {
		.memory = memory, .kind = FILL_BITS, .count = bytes, .seed = seed, .scale = 1
	};
	uint64_t *back = xmalloc(bytes);
	enum status status = STATUS_OK;

	if (alloc_blocks_origin_on_device(kind)) {
		status = backend_launch(stream, "fill", &fill, err);
		if (status == STATUS_OK)
			status = backend_copy(stream, back, memory, bytes, err);
		if (backend_stream_synchronize(stream, status == STATUS_OK ? err : NULL) !=
			    STATUS_OK &&
		    status == STATUS_OK)
			status = err->status;
		for (size_t i = 0; i < bytes / sizeof(*back) && status == STATUS_OK; i++)
			if (back[i] != generator_bits(seed, i))
				status = error_set(err, STATUS_MISMATCH,
						   "a kernel wrote a wrong value to word %zu", i);
	}
	free(back);
	return status;
}

static enum status failure_use_memory(struct blocks *b, struct error *err)
{
	struct origin *origin = &b->origin;
	enum allocator allocator = alloc_blocks_origin_is_own(origin->kind)
					   ? ALLOCATOR_DEVICE
					   : (enum allocator)origin->kind;
	struct buffer buffer = { .device = b->device,
				 .allocator = allocator,
				 .bytes = FAILURE_AFTERWARDS_BYTES };
	enum status status = alloc_blocks_origin_get(origin, FAILURE_AFTERWARDS_BYTES, b->stream,
						     &buffer.memory, err);

	/* A pool's memory belongs to its own stream until the device is synchronised. */
	if (status == STATUS_OK)
		status = backend_device_synchronize(b->device, err);
	if (status == STATUS_OK)
		status = failure_kernel_works(b->stream, origin->kind, buffer.memory,
					      FAILURE_AFTERWARDS_BYTES, b->seed, err);
	if (status == STATUS_OK)
		status = buffer_fill(&buffer, b->stream, b->seed, err);
	if (status == STATUS_OK)
		status =
			buffer_check(&buffer, b->stream, 0, FAILURE_AFTERWARDS_BYTES, b->seed, err);
	alloc_blocks_origin_give(origin, buffer.memory, FAILURE_AFTERWARDS_BYTES, b->stream, NULL);
	return status;
}

/* Free memory of the device with empty caches; -1 if unknown. */
static enum status alloc_failure_free_now(struct blocks *b, int64_t *out, struct error *err)
{
	struct error ignored = ERROR_NONE;
	uint64_t unused;

	*out = -1;
	if (!b->origin.on_device)
		return STATUS_OK;
	if (alloc_blocks_origin_trim(&b->origin, err) != STATUS_OK)
		return err->status;
	if (alloc_blocks_free_bytes(b->device, &unused, &ignored) == STATUS_OK)
		*out = (int64_t)unused;
	return STATUS_OK;
}

/*
 * After a failed allocation the device must work as before. Wrong data, or no memory, are a wrong
 * result; a device that fails completely is an error, after which its process can do nothing more.
 */
static enum status alloc_failure_record_recovered(struct run *run, struct blocks *b, int64_t before,
						  struct error *err)
{
	struct error broken = ERROR_NONE;
	enum status status = failure_use_memory(b, &broken);
	int64_t after;
	char lost[32];

	if (status != STATUS_OK)
		error_set(err, status == STATUS_NO_MEMORY ? STATUS_MISMATCH : status,
			  "the device does not work after a failed allocation: %s", broken.message);
	else if (alloc_failure_free_now(b, &after, err) == STATUS_OK && before >= 0 && after >= 0) {
		run_value(run, "alloc.lost", after < before ? (double)(before - after) : 0);
		if (before - after > MAY_KEEP_BYTES)
			error_set(err, STATUS_MISMATCH,
				  "%s of device memory are missing after the failed allocation",
				  units_format((double)(before - after), "B", lost, sizeof(lost)));
	}
	run_value(run, "alloc.recovered", err->status == STATUS_OK);
	return err->status;
}

enum status alloc_failure(struct run *run, int kind, struct error *err)
{
	struct device *device = run->devices[0];
	struct blocks b = { 0 };
	int64_t before = -1;
	uint64_t unused, total;
	size_t bytes = (size_t)1 << 50;

	/*
	 * Twice the device's memory, which its driver actually tries to allocate. The operating
	 * system overcommits its memory and kills the process later, so there the size exceeds the
	 * address space.
	 */
	if (alloc_blocks_origin_on_device(kind) &&
	    !(device->info.capabilities & DEVICE_SHARES_HOST_MEMORY)) {
		if (backend_device_memory(device, &unused, &total, err) != STATUS_OK)
			return err->status;
		bytes = 2 * total;
	}
	/* The first use takes memory that is not part of the failure. */
	if (alloc_blocks_open(&b, run, kind, bytes, alloc_blocks_limit(run, kind), err) ==
		    STATUS_OK &&
	    failure_use_memory(&b, err) == STATUS_OK &&
	    alloc_failure_free_now(&b, &before, err) == STATUS_OK &&
	    measure_failure(run, &b, err) == STATUS_OK &&
	    alloc_failure_record_recovered(run, &b, before, err) == STATUS_OK)
		run_verified(run, "memory allocated after the failure, filled and read back", NAN,
			     NAN);
	alloc_blocks_close(&b);
	return err->status;
}

/* Allocates ever smaller pieces until even the smallest is refused. */
static enum status failure_fill_up(uint64_t piece, struct memory_filler *filler, struct error *err)
{
	while (piece >= SMALLEST_PIECE) {
		struct error refused = ERROR_NONE;
		enum status status = alloc_blocks_filler_take(filler, piece, &refused);

		if (status == STATUS_NO_MEMORY)
			piece = piece / 2 / SMALLEST_PIECE * SMALLEST_PIECE;
		else if (status != STATUS_OK)
			return error_set(err, status, "%s", refused.message);
	}
	return backend_stream_synchronize(filler->stream, err);
}

/* A full device still computes in allocated memory. */
static enum status alloc_failure_works_when_full(struct blocks *b, const struct memory_filler *f,
						 struct error *err)
{
	struct error broken = ERROR_NONE;

	if (f->count == 0)
		return error_set(err, STATUS_UNSUPPORTED, "even the smallest allocation failed");
	if (failure_kernel_works(b->stream, b->origin.kind, f->chunks[0].memory,
				 FAILURE_AFTERWARDS_BYTES, b->seed, &broken) == STATUS_OK)
		return STATUS_OK;
	return error_set(err, STATUS_MISMATCH,
			 "the device does not work while its memory is full: %s", broken.message);
}

enum status alloc_failure_exhaust(struct run *run, int kind, struct error *err)
{
	struct blocks b = { 0 };
	struct memory_filler filler = { 0 };
	uint64_t unused, limit;
	int64_t before = -1;

	if (alloc_blocks_free_bytes(run->devices[0], &unused, err) != STATUS_OK)
		return err->status;
	/* Regions keep freed memory: without a reserve the device could not show that it works. */
	limit = alloc_blocks_origin_is_own(kind) && kind != ORIGIN_CACHING ? unused - unused / 64
									   : 0;
	if (alloc_blocks_open(&b, run, kind, REFUSED_BYTES, limit, err) == STATUS_OK &&
	    failure_use_memory(&b, err) == STATUS_OK &&
	    alloc_failure_free_now(&b, &before, err) == STATUS_OK) {
		uint64_t piece = (uint64_t)before / PIECES / SMALLEST_PIECE * SMALLEST_PIECE;

		filler = (struct memory_filler){ .origin = b.origin, .stream = b.stream };
		if (failure_fill_up(piece > SMALLEST_PIECE ? piece : SMALLEST_PIECE, &filler,
				    err) == STATUS_OK &&
		    alloc_failure_works_when_full(&b, &filler, err) == STATUS_OK &&
		    measure_failure(run, &b, err) == STATUS_OK) {
			run_value(run, "alloc.granted", (double)filler.bytes);
			run_value(run, "alloc.granted_share",
				  (double)filler.bytes / (double)before);
			alloc_failure_works_when_full(&b, &filler, err);
		}
	}
	alloc_blocks_filler_free(&filler);
	if (err->status == STATUS_OK &&
	    alloc_failure_record_recovered(run, &b, before, err) == STATUS_OK)
		run_verified(run,
			     "kernels compute correctly while memory is full and afterwards, and "
			     "all memory is freed",
			     NAN, NAN);
	alloc_blocks_close(&b);
	return err->status;
}
