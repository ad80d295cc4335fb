/*
 * Device memory of one rank, tagged by purpose, so that the memory of a training step adds up by
 * construction.
 *
 * Adding a class: add one row to MEMORY_CLASSES; the metric parallel.memory_<name> follows.
 */
#ifndef GPUPROOF_SUITES_TRAINING_MODELS_ARENA_H
#define GPUPROOF_SUITES_TRAINING_MODELS_ARENA_H

#include "device/backend.h"

#define MEMORY_CLASSES(X)                                                                        \
	X(PARAMETERS, parameters, "weights and biases that GEMMs read")                          \
	X(GRADIENTS, gradients, "gradients of the parameters")                                   \
	X(MASTER, master, "FP32 master copies of 16-bit weights")                                \
	X(OPTIMIZER, optimizer, "optimizer state (moments)")                                     \
	X(ACTIVATIONS, activations,                                                              \
	  "layer outputs kept for the backward pass, logits, received stage inputs, and losses") \
	X(TRANSIENT, transient, "gradients of activations during the backward pass")             \
	X(WORKSPACE, workspace, "workspaces of reductions and of the GEMM library")              \
	X(COMMUNICATION, communication, "buffers used only to send or receive")                  \
	X(INPUT, input, "input batch and its labels")

enum memory_class {
#define X(symbol, name, help) MEMORY_##symbol,
	MEMORY_CLASSES(X)
#undef X
		MEMORY_STEP_CLASSES,
	/* copies made for comparison, not part of a step */
	MEMORY_VERIFICATION = MEMORY_STEP_CLASSES,
	MEMORY_SHARED, /* counted in two classes of the step: see arena_share() */
	MEMORY_CLASS_COUNT
};
extern const char *const memory_class_names[MEMORY_CLASS_COUNT];

struct arena_block {
	void *memory;
	uint64_t bytes;
	enum memory_class tag;
};

/* Source of an arena's memory if it is not the device itself. */
struct arena_source {
	void *state;
	enum status (*take)(void *state, enum memory_class tag, uint64_t bytes, void **out,
			    struct error *err);
	void (*give)(void *state, enum memory_class tag, void *memory, uint64_t bytes);
};

struct arena {
	struct device *device;
	const struct arena_source *source; /* NULL: the device */
	struct arena_block *blocks;
	size_t count, capacity;
	uint64_t bytes[MEMORY_CLASS_COUNT];
};

void arena_init(struct arena *arena, struct device *device);
/*
 * `out` is the address of a pointer of any type. Does nothing after an error. STATUS_NO_MEMORY
 * names the class and the size. The memory is not initialised; the arena releases it.
 */
enum status arena_alloc(struct arena *arena, enum memory_class tag, uint64_t bytes, void *out,
			struct error *err);
/*
 * Frees memory of arena_alloc() before the arena is released; NULL is allowed. The device must have
 * finished with it.
 */
void arena_free(struct arena *arena, void *memory);
/*
 * Declares that `bytes` of one class also serve class `tag` at another time of the step. Both
 * classes count them, so that each class has one definition in every mode, and so does
 * MEMORY_SHARED: a device needs the sum of the step's classes minus MEMORY_SHARED.
 */
void arena_share(struct arena *arena, enum memory_class tag, uint64_t bytes);
/*
 * Moves `bytes` of a block from class `from` to class `to`; the block lives as long as the arena.
 */
void arena_move(struct arena *arena, enum memory_class from, enum memory_class to, uint64_t bytes);
/* Memory that other code holds for this step (a library's workspace). */
void arena_account(struct arena *arena, enum memory_class tag, uint64_t bytes);
void arena_release(struct arena *arena);

#endif
