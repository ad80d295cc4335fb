#include "kernels/comparison.h"

#include <string.h>

#include "device/host/host_kernel.h"
#include "kernels/stored.h"

/* Smaller slices do not justify a second thread. */
#define GRAIN 16384

struct checksum_work {
	const struct checksum_arguments *a;
	uint64_t parts[HOST_PARALLEL_MAX];
};

static void comparison_host_checksum_slice(void *context, unsigned part, uint64_t begin,
					   uint64_t end)
{
	struct checksum_work *work = context;
	const unsigned char *memory = work->a->memory;
	uint64_t sum = 0;

	for (uint64_t i = begin; i < end; i++) {
		uint64_t left = work->a->bytes - 8 * i, word = 0;

		memcpy(&word, memory + 8 * i, left < 8 ? left : 8);
		sum += comparison_checksum_word(word, i);
	}
	work->parts[part] = sum;
}

static enum status checksum_run(struct stream *stream, const void *arguments, struct error *err)
{
	struct checksum_work work = { .a = arguments };
	unsigned parts = host_stream_parallel(stream, (work.a->bytes + 7) / 8, GRAIN,
					      comparison_host_checksum_slice, &work);

	(void)err;
	for (unsigned i = 0; i < parts && work.a->bytes > 0; i++)
		*work.a->out += work.parts[i];
	return STATUS_OK;
}
HOST_KERNEL(checksum)

_Static_assert(DIFFERENCE_PARTS >= HOST_PARALLEL_MAX, "a part for each thread");

static void comparison_host_difference_slice(void *context, unsigned part, uint64_t begin,
					     uint64_t end)
{
	const struct difference_arguments *a = context;
	struct difference_part sum = { 0, 0 };

	for (uint64_t i = begin; i < end; i++) {
		double expected = stored_value(a->y, a->precision, i) / a->y_scale;
		double d = stored_value(a->x, a->precision, i) / a->x_scale - expected;

		sum.difference += d * d;
		sum.expected += expected * expected;
	}
	a->parts[part] = sum;
}

static enum status difference_run(struct stream *stream, const void *arguments, struct error *err)
{
	struct difference_arguments a = *(const struct difference_arguments *)arguments;

	(void)err;
	memset(a.parts, 0, DIFFERENCE_PARTS * sizeof(*a.parts));
	host_stream_parallel(stream, a.count, GRAIN, comparison_host_difference_slice, &a);
	return STATUS_OK;
}
HOST_KERNEL(difference)
