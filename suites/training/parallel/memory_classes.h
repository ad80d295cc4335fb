/* Device memory of a setup, computed by a dry run of its allocations without a device. */
#ifndef GPUPROOF_SUITES_TRAINING_PARALLEL_MEMORY_CLASSES_H
#define GPUPROOF_SUITES_TRAINING_PARALLEL_MEMORY_CLASSES_H

#include "base/text.h"
#include "measure/run.h"
#include "suites/training/models/arena.h"
#include "suites/training/models/network.h"
#include "suites/training/models/setup.h"

/*
 * Bytes of the rank that needs the most: the network, the mode's own buffers, and the transposed
 * copies during tuning of wgrad layouts, which may later alias other buffers (buffer_alias.h).
 * Excludes messages between stages and workspaces of libraries, which are small in comparison.
 */
uint64_t memory_classes_footprint(const struct setup *setup);

/* Activations that a transformer's blocks keep for backward: measured and published values. */

/* Bytes of one rank. */
struct block_memory {
	double kept;      /* inputs of blocks and their inner tensors */
	double published; /* by formula, with fused attention */
	double unfused;   /* with the scores of unfused attention */
};

/*
 * Korthikanti et al. 2022, arXiv:2205.05198, section 4, for 16 bits and per block: 34 s b h; with t
 * tensor-parallel ranks s b h (10 + 24 / t), with sequence parallelism 34 s b h / t; plus 5 a s^2 b
 * / t if attention is not fused; with recomputation 2 s b h per block, plus one whole block. If
 * outputs of norms and GELU are recomputed, 12 of the 34 are stored once for all blocks. Other
 * precisions change all sizes except the dropout masks of one byte. s b: tokens that the rank keeps
 * at a time. All zero for a rank without blocks.
 */
struct block_memory memory_classes_block_memory_of(const struct network *network);

/* Memory by class in results of the suites that train: metrics and texts. */

/* Arrays of bytes have MEMORY_CLASS_COUNT elements. */

/* Memory of a step: the sum of its classes minus the memory counted twice. */
uint64_t memory_classes_total(const uint64_t *bytes);
/*
 * Records SUITE.memory, the total, SUITE.memory_CLASS for each class that the run's suite has, and
 * SUITE.memory_shared if classes share memory.
 */
void memory_classes_record(struct run *run, const uint64_t *bytes);
/*
 * Explains why the bars exceed the total: outputs share memory with gradients that are written
 * later.
 */
#define MEMORY_SHARED_NOTE                                                                     \
	"Activations whose memory is later reused for gradients count as gradients; only the " \
	"rest is drawn as activations."
/* Appends "parameters 16 MB, gradients 16 MB"; "nothing" if all are empty. */
void memory_classes_describe(struct text *out, const uint64_t *bytes);
/*
 * The same for several ranks: "parameters 16 MB; activations of ranks 0 to 2: 8 MB, 12 MB,
 * nothing": equal values appear once. `connections` of each rank, which belong to no class, come
 * last: "; connections between ranks took another 200 MB".
 */
void memory_classes_describe_ranks(struct text *out, const uint64_t (*bytes)[MEMORY_CLASS_COUNT],
				   const uint64_t *connections, int ranks);

#endif
