/*
 * Kernels that use links: copies that move each byte and no other, and pointers that are all
 * followed.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "kernel_checks.h"
#include "kernels/memory/chase.h"
#include "kernels/memory/copy.h"

/* Bytes before and after the copy that must stay as they are. */
#define MARGIN 32

static void copy_once(struct bench *b, size_t bytes)
{
	unsigned char *data = xmalloc(bytes + 2 * MARGIN), *got = xmalloc(bytes + 2 * MARGIN);
	uint64_t state = bytes;
	char *from, *to;

	for (size_t i = 0; i < bytes + 2 * MARGIN; i++)
		data[i] = (unsigned char)(128 * random_uniform(&state));
	from = bench_upload(b, data, bytes + 2 * MARGIN);
	to = bench_upload(b, NULL, bytes + 2 * MARGIN);
	bench_launch(b, "copy",
		     &(struct copy_arguments){ .to = to + MARGIN,
					       .from = from + MARGIN,
					       .bytes = bytes,
					       .count = 2 });
	bench_download(b, got, to, bytes + 2 * MARGIN);
	for (size_t i = 0; i < bytes + 2 * MARGIN && bench_ok(b); i++) {
		unsigned char expected = i >= MARGIN && i < MARGIN + bytes ? data[i] : 0xee;

		if (got[i] != expected)
			error_set(b->err, STATUS_MISMATCH,
				  "copy of %zu bytes: byte %zd is %#x, not %#x", bytes,
				  (ssize_t)i - MARGIN, got[i], expected);
	}
	free(got);
	free(data);
}

/* Back and forth in one launch: both arrive, and nothing beyond their ends. */
static void copy_both(struct bench *b, size_t bytes)
{
	unsigned char *data = xmalloc(2 * bytes), *got = xmalloc(2 * (bytes + 1));
	uint64_t state = bytes;
	char *from[2], *to[2];

	for (size_t i = 0; i < 2 * bytes; i++)
		data[i] = (unsigned char)(128 * random_uniform(&state));
	for (int i = 0; i < 2; i++) {
		from[i] = bench_upload(b, data + i * bytes, bytes);
		to[i] = bench_upload(b, NULL, bytes + 1);
	}
	bench_launch(b, "copy",
		     &(struct copy_arguments){ .to = to[0],
					       .from = from[0],
					       .bytes = bytes,
					       .count = 1,
					       .back_to = to[1],
					       .back_from = from[1] });
	for (int i = 0; i < 2 && bench_ok(b); i++) {
		bench_download(b, got, to[i], bytes + 1);
		if (memcmp(got, data + i * bytes, bytes) != 0 || got[bytes] != 0xee)
			error_set(b->err, STATUS_MISMATCH,
				  "copy of %zu bytes in both directions: direction %d", bytes, i);
	}
	free(got);
	free(data);
}

/* Around a vector, a block's window and a grid's window; parts that are not whole. */
enum status check_copy_sizes(struct device *device, struct error *err)
{
	static const size_t sizes[] = { 1, 15, 16, 4113, 65536, 1000003, 20000007 };
	struct bench b;

	bench_open(&b, device, err);
	for (size_t i = 0; i < ARRAY_SIZE(sizes) && bench_ok(&b); i++)
		copy_once(&b, sizes[i]);
	if (bench_close(&b) != STATUS_OK)
		return err->status;
	bench_open(&b, device, err);
	for (size_t i = 0; i < ARRAY_SIZE(sizes) - 1 && bench_ok(&b); i++)
		copy_both(&b, sizes[i]);
	return bench_close(&b);
}

/* Three launches on different multiprocessors continue where the one before stopped. */
enum status check_chase(struct device *device, struct error *err)
{
	enum { NODES = 1021, STEP = 389, HOPS = 2000 };
	uint64_t nodes[NODES], at = 0, expected = 3 * HOPS % NODES * STEP % NODES;
	char *memory;
	struct bench b;
	void *cursor;

	bench_open(&b, device, err);
	memory = bench_upload(&b, NULL, sizeof(nodes));
	for (int i = 0; i < NODES; i++)
		nodes[i] = (uint64_t)(uintptr_t)(memory + 8 * ((i + STEP) % NODES));
	if (bench_ok(&b) && backend_copy(b.stream, memory, nodes, sizeof(nodes), err) == STATUS_OK)
		backend_stream_synchronize(b.stream, err);
	cursor = bench_upload(&b, &memory, sizeof(memory));
	for (uint64_t turn = 0; turn < 3; turn++)
		bench_launch(&b, "chase",
			     &(struct chase_arguments){
				     .cursor = cursor, .hops = HOPS, .turn = 50 * turn });
	bench_download(&b, &at, cursor, sizeof(at));
	if (bench_ok(&b) && (at - (uint64_t)(uintptr_t)memory) / 8 != expected)
		error_set(err, STATUS_MISMATCH, "the way ends at node %llu, not %llu",
			  (unsigned long long)(at - (uint64_t)(uintptr_t)memory) / 8,
			  (unsigned long long)expected);
	return bench_close(&b);
}
