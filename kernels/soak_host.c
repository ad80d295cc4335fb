#include "kernels/soak.h"

#include <string.h>

#include "kernels/launch/host_kernel.h"

/* Words below which a second thread is not worth it. */
#define GRAIN 16384

/* Each part's own; they are merged in the order of memory. */
struct findings {
	const void *arguments;
	struct wrong_words parts[HOST_PARALLEL_MAX];
};

static void look(struct wrong_words *found, uint64_t offset, const uint64_t *at, uint64_t expected)
{
	uint64_t got = *at;

	if (found->recorded < WRONG_WORDS)
		found->words[found->recorded++] =
			(struct wrong_word){ offset, (uint64_t)(uintptr_t)at, expected, got };
	found->count++;
	found->flipped |= got ^ expected;
}

static void merge(struct wrong_words *out, const struct wrong_words *parts, unsigned count)
{
	for (unsigned p = 0; p < count; p++) {
		out->count += parts[p].count;
		out->flipped |= parts[p].flipped;
		for (uint64_t i = 0; i < parts[p].recorded; i++)
			if (out->recorded < WRONG_WORDS)
				out->words[out->recorded++] = parts[p].words[i];
	}
}

static void sweep_word(const struct soak_memory_arguments *a, uint64_t i, struct wrong_words *found)
{
	uint64_t *at = (uint64_t *)a->memory + i;
	uint64_t index = a->first + i, address = (uint64_t)(uintptr_t)at;
	uint64_t expected = pattern_word(a->expected, index, address);

	if (a->check && *at != expected)
		look(found, 8 * index, at, expected);
	if (a->write)
		*at = pattern_word(a->next, index, address);
}

static void sweep_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	struct findings *f = context;
	const struct soak_memory_arguments *a = f->arguments;

	memset(&f->parts[part], 0, sizeof(f->parts[part]));
	for (uint64_t n = begin; n < end; n++)
		sweep_word(a, a->descending ? a->words - 1 - n : n, &f->parts[part]);
}

static enum status soak_memory_run(struct stream *stream, const void *arguments, struct error *err)
{
	const struct soak_memory_arguments *a = arguments;
	struct findings found = { .arguments = a };
	unsigned parts;

	if (a->words % 2 || (uintptr_t)a->memory % 16)
		return error_set(err, STATUS_INTERNAL,
				 "soak_memory: memory must be aligned to 16 bytes, and as long");
	parts = host_parallel(stream, a->words, GRAIN, sweep_slice, &found);
	if (a->check)
		merge(a->out, found.parts, parts);
	return STATUS_OK;
}
HOST_KERNEL(soak_memory)

static void compare_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	struct findings *f = context;
	const struct soak_compare_arguments *a = f->arguments;
	uint64_t *memory = a->memory;
	const uint64_t *reference = a->reference;

	memset(&f->parts[part], 0, sizeof(f->parts[part]));
	for (uint64_t i = begin; i < end; i++) {
		if (memory[i] != reference[i])
			look(&f->parts[part], 8 * i, &memory[i], reference[i]);
		memory[i] = UINT64_MAX;
	}
}

static enum status soak_compare_run(struct stream *stream, const void *arguments, struct error *err)
{
	const struct soak_compare_arguments *a = arguments;
	struct findings found = { .arguments = a };
	unsigned parts;

	if (a->bytes % 16 || (uintptr_t)a->memory % 16 || (uintptr_t)a->reference % 16)
		return error_set(err, STATUS_INTERNAL,
				 "soak_compare: memory must be aligned to 16 bytes, and as long");
	parts = host_parallel(stream, a->bytes / 8, GRAIN, compare_slice, &found);
	merge(a->out, found.parts, parts);
	return STATUS_OK;
}
HOST_KERNEL(soak_compare)
