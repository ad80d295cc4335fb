#include "suites/training/parallel/footprint.h"

#include "suites/training/models/backward_schedule.h"
#include "suites/training/models/mode.h"

/* Returns addresses without memory. */
static enum status footprint_count(void *state, enum memory_class tag, uint64_t bytes, void **out,
				   struct error *err)
{
	uint64_t *all = state;

	(void)tag;
	*out = (char *)state + 1;
	*all += bytes;
	return err->status;
}

static void footprint_forget(void *state, enum memory_class tag, void *memory, uint64_t bytes)
{
	(void)state;
	(void)tag;
	(void)memory;
	(void)bytes;
}

/* Bytes of the transposed output rows: see struct network. */
static uint64_t footprint_transposed_bytes(const struct network *n)
{
	uint64_t columns = 0;

	if (n->setup->weight_gradient == WGRAD_DIRECT)
		return 0;
	for (size_t i = 0; i < SETUP_MAX_LAYERS; i++)
		columns += backward_transposed_columns(n, i);
	return columns * n->step_rows * precision_bytes(n->setup->precision);
}

static uint64_t footprint_of_rank(const struct setup *setup, int rank)
{
	struct error none = ERROR_NONE;
	struct arena_source source = { .take = footprint_count, .give = footprint_forget };
	struct network network;
	struct arena arena;
	uint64_t bytes = 0;

	source.state = &bytes;
	arena_init(&arena, NULL);
	arena.source = &source;
	network_open(&network, setup, NULL, &arena, rank, &none);
	arena_release(&arena);
	return bytes + footprint_transposed_bytes(&network) +
	       (setup->mode->buffers ? setup->mode->buffers(setup, rank) : 0);
}

uint64_t footprint(const struct setup *setup)
{
	uint64_t most = 0;

	for (int rank = 0; rank < setup->ranks; rank++) {
		uint64_t bytes = footprint_of_rank(setup, rank);

		most = bytes > most ? bytes : most;
	}
	return most;
}
