/*
 * cuDNN, opened on first use: cudnn.c opens it and has the operations of the backend, cudnn_graph.c
 * describes a convolution in its graph interface.
 */
#ifndef GPUPROOF_DEVICE_CUDA_DNN_CUDNN_H
#define GPUPROOF_DEVICE_CUDA_DNN_CUDNN_H

#include <stdint.h>

#include "device/cuda/library.h"
#include "kernels/convolution/convolution.h"

struct cudnn_functions {
#define CUDNN(name, parameters) int(*name) parameters;
#include "device/cuda/dnn/cudnn.def"
#undef CUDNN
	size_t (*cudnnGetVersion)(void);
	const char *(*cudnnGetErrorString)(int status);
	void (*cudnnGetLastErrorString)(char *out, size_t size);
};

extern struct library cudnn_library;
extern struct cudnn_functions cudnn;

/* STATUS_OK if cuDNN is there and has code for the compute capability (75 for 7.5). */
enum status cudnn_serves(int capability, struct error *err);
/* The library must be open. */
void cudnn_version(char *out, size_t size);
/* Makes *handle for a CUDA stream unless it exists. After a failure it is NULL. */
enum status cudnn_graph_handle_new(void **handle, void *stream, struct error *err);
/* Frees the handle of a stream; NULL is allowed. */
void cudnn_handle_free(void *handle);

/* STATUS_OK, or the failure of `call` with the library's name for `result`, and its last error. */
enum status cudnn_graph_check(int result, const char *call, struct error *err);

/* One pass of a convolution, and execution plans for it: those of base.engines. */
struct cudnn_engines {
	struct convolution_engines base;
	void *handle; /* of the stream */
	enum convolution_pass pass;
	void *plans[CONVOLUTION_ENGINES];
	/* descriptors, each after those that it refers to; NULL: destroyed */
	void **kept;
	size_t kept_count, kept_capacity;
};

/*
 * Builds plans for the engines that the library's heuristics offer, the best by their estimate
 * first: at most `most`, those that need no more than `workspace` bytes. If there are none:
 * the first failure, for example STATUS_NO_MEMORY, or STATUS_UNSUPPORTED with the library's last
 * reason. Release them with cudnn_graph_engines_release(), even after a failure.
 */
enum status cudnn_graph_engines_find(struct cudnn_engines *engines,
				     const struct convolution_shape *shape, uint64_t workspace,
				     unsigned most, struct error *err);
/* Destroys the plans of all engines but `engine`, which becomes the first. */
void cudnn_graph_engines_keep(struct cudnn_engines *engines, unsigned engine);
void cudnn_graph_engines_release(struct cudnn_engines *engines);

/* Enqueues the pass. STATUS_UNSUPPORTED if the engine refuses. */
enum status cudnn_graph_engine_execute(struct cudnn_engines *engines, unsigned engine,
				       const struct convolution_tensors *tensors,
				       struct error *err);

#endif
