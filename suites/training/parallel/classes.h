/* Memory by class in results of the suites that train: metrics and texts. */
#ifndef GPUPROOF_PARALLEL_CLASSES_H
#define GPUPROOF_PARALLEL_CLASSES_H

#include "base/text.h"
#include "measure/run.h"
#include "suites/training/models/arena.h"

/* Arrays of bytes have MEMORY_CLASS_COUNT elements. */

/* Memory of a step: the sum of its classes minus the memory counted twice. */
uint64_t classes_total(const uint64_t *bytes);
/*
 * Records SUITE.memory, the total, SUITE.memory_CLASS for each class that the run's suite has, and
 * SUITE.memory_shared if classes share memory.
 */
void classes_record(struct run *run, const uint64_t *bytes);
/*
 * Explains why the bars exceed the total: outputs share memory with gradients that are written
 * later.
 */
#define MEMORY_SHARED_NOTE                                                                      \
	"Activations that are where gradients come later are drawn as those: only the rest is " \
	"drawn as "                                                                             \
	"activations."
/* Appends "parameters 16 MB, gradients 16 MB"; "nothing" if all are empty. */
void classes_describe(struct text *out, const uint64_t *bytes);
/*
 * The same for several ranks: "parameters 16 MB; activations of ranks 0 to 2: 8 MB, 12 MB,
 * nothing": equal values appear once. `connections` of each rank, which belong to no class, come
 * last: "; connections between ranks took another 200 MB".
 */
void classes_describe_ranks(struct text *out, const uint64_t (*bytes)[MEMORY_CLASS_COUNT],
			    const uint64_t *connections, int ranks);

#endif
