/* One case of the stream suite: memory, passes, and verification. */
#ifndef GPUPROOF_SUITES_STREAM_CASE_H
#define GPUPROOF_SUITES_STREAM_CASE_H

#include "kernels/memory/stream.h"
#include "measure/run.h"
#include "suites/shared/buffers.h"
#include "suites/shared/cache.h"

/* Operands of an operation. Sums read x and, if they have one, y. */
struct stream_shape {
	bool numbers; /* numbers of a precision; else words */
	bool x, y, out;
};
extern const struct stream_shape stream_shapes[]; /* by enum stream_operation */

/*
 * Random access reads a share of the words: it is slow, and the share is large enough to exceed any
 * cache.
 */
#define RANDOM_SHARE 8

struct stream_case {
	struct run *run;
	struct device *device;
	struct stream *stream;
	struct buffer x, y, out, sum;
	struct cache_flush flush;
	bool cold;
	uint64_t seeds[3]; /* of x, y, and of the operation's random numbers */
	struct stream_arguments arguments;
};

/* Initialises the case from its parameters without allocating. */
void stream_case_init(struct stream_case *c, struct run *run);
/* Allocates and fills. Close a case even after a failure. */
enum status stream_case_open(struct stream_case *c, struct error *err);
void stream_case_close(struct stream_case *c);
uint64_t stream_elements(const struct stream_case *c);

/* Poisons the output and zeroes dot's sum, so that results of an earlier pass cannot verify. */
enum status stream_forget(struct stream_case *c, struct error *err);
/* For a workload whose state is the case. */
enum status stream_launch(void *state, unsigned batch, struct error *err);
enum status stream_flush_before(void *state, struct error *err);
/* Verifies the result of the passes so far. `error`: of dot; NaN for an exact comparison. */
enum status stream_check(struct stream_case *c, double *error, struct error *err);

#endif
