#include "suites/training/models/arena.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/units.h"

const char *const memory_class_names[MEMORY_CLASS_COUNT] = {
#define X(symbol, name, help) #name,
	MEMORY_CLASSES(X)
#undef X
		"verification",
	"shared",
};

void arena_init(struct arena *arena, struct device *device)
{
	*arena = (struct arena){ .device = device };
}

static void arena_give_block(struct arena *arena, struct arena_block *block)
{
	const struct arena_source *source = arena->source;
	struct error ignored = ERROR_NONE;

	if (source)
		source->give(source->state, block->tag, block->memory, block->bytes);
	else
		backend_memory_free(arena->device, ALLOCATOR_DEVICE, block->memory, block->bytes,
				    NULL, &ignored);
}

enum status arena_alloc(struct arena *arena, enum memory_class tag, uint64_t bytes, void *out,
			struct error *err)
{
	const struct arena_source *source = arena->source;
	struct arena_block block = { .bytes = bytes, .tag = tag };
	char size[32];

	if (err->status != STATUS_OK)
		return err->status;
	if ((source ? source->take(source->state, tag, bytes, &block.memory, err)
		    : backend_memory_alloc(arena->device, ALLOCATOR_DEVICE, bytes, NULL,
					   &block.memory, err)) != STATUS_OK)
		return error_prefix(err, "%s of %s", units_size(bytes, size, sizeof(size)),
				    memory_class_names[tag]);
	ARRAY_GROW(arena->blocks, arena->count, arena->capacity);
	arena->blocks[arena->count++] = block;
	arena->bytes[tag] += bytes;
	memcpy(out, &block.memory, sizeof(block.memory));
	return STATUS_OK;
}

void arena_free(struct arena *arena, void *memory)
{
	for (size_t i = 0; memory && i < arena->count; i++) {
		if (arena->blocks[i].memory != memory)
			continue;
		arena_give_block(arena, &arena->blocks[i]);
		arena->bytes[arena->blocks[i].tag] -= arena->blocks[i].bytes;
		arena->blocks[i] = arena->blocks[--arena->count];
		return;
	}
}

void arena_share(struct arena *arena, enum memory_class tag, uint64_t bytes)
{
	arena->bytes[tag] += bytes;
	arena->bytes[MEMORY_SHARED] += bytes;
}

void arena_move(struct arena *arena, enum memory_class from, enum memory_class to, uint64_t bytes)
{
	arena->bytes[from] -= bytes;
	arena->bytes[to] += bytes;
}

void arena_account(struct arena *arena, enum memory_class tag, uint64_t bytes)
{
	arena->bytes[tag] += bytes;
}

void arena_release(struct arena *arena)
{
	while (arena->count > 0)
		arena_give_block(arena, &arena->blocks[--arena->count]);
	free(arena->blocks);
	*arena = (struct arena){ .device = arena->device, .source = arena->source };
}
