/*
 * Convolutions by a library or the built-in kernels, and the search for the fastest way to carry
 * one out, as cudnn.benchmark does before training.
 */
#ifndef GPUPROOF_SUITES_SHARED_CONVOLUTIONS_H
#define GPUPROOF_SUITES_SHARED_CONVOLUTIONS_H

#include "device/backend.h"
#include "kernels/convolution/convolution.h"

/* Largest workspace of a library. */
#define CONVOLUTION_WORKSPACE_BYTES (UINT64_C(256) << 20)
/* Without a search: engines to prepare; the first that works is used. */
#define CONVOLUTION_SPARE_ENGINES 3

struct convolution_work {
	struct stream *stream;
	struct convolution_shape shape;
	enum convolution_pass pass;
	struct convolution_engines *engines; /* NULL: the built-in kernels */
	unsigned engine;
	/* workspace: of the library's engine, or kernel_convolution_scratch_bytes() */
	struct convolution_tensors tensors;
};

/* "forward", "data_gradient", "weight_gradient"; then NULL. */
extern const char *const convolution_pass_names[];

/* The tensor that the pass computes, and its number of elements. */
void **convolution_result(struct convolution_work *work);
uint64_t convolution_result_elements(const struct convolution_shape *shape,
				     enum convolution_pass pass);
/* Largest relative L2 error of a result. */
double convolution_tolerance(enum precision precision);

/* True if a library is used unless the user asks for the built-in kernels. */
bool convolution_prefers_library(const struct convolution_shape *shape,
				 const struct device_info *info);
/* Largest workspace of all engines, as a search launches each of them. */
uint64_t convolution_workspace_of_all(const struct convolution_engines *engines);
enum status convolution_enqueue(const struct convolution_work *work, struct error *err);

/* Maximum number: engines of a library, or values of enum convolution_algorithm. */
#define CONVOLUTION_CANDIDATES 32

struct convolution_search {
	unsigned usable;         /* candidates that support the shape, the pass and the device */
	unsigned first, fastest; /* the first usable candidate, and the fastest */
	double first_seconds, seconds; /* of a launch of both; 0: not timed */
};

/*
 * Launches the pass once; STATUS_UNSUPPORTED if the candidate refuses, which is then not launched
 * again. Any other failure ends the search.
 */
typedef enum status convolution_launch_fn(void *state, unsigned candidate, struct error *err);

/*
 * Finds the fastest of `candidates` within about `seconds` on `stream`, with autotune() in rested
 * mode; with 0 seconds the first usable one. Times nothing if only one is usable. If all refuse:
 * STATUS_UNSUPPORTED with the last reason.
 */
enum status convolution_search(struct stream *stream, double seconds, unsigned candidates,
			       convolution_launch_fn *launch, void *state,
			       struct convolution_search *found, struct error *err);

#endif
