/*
 * The CUDA backend's own structs and what its files share. One process drives its devices from
 * one thread, so the state here needs no locks.
 */
#ifndef GPUPROOF_DEVICE_CUDA_CUDA_BACKEND_H
#define GPUPROOF_DEVICE_CUDA_CUDA_BACKEND_H

#include "device/backend.h"
#include "device/cuda/compat.h"
#include "device/cuda/cuda_kernel.h"

struct cublas_context;    /* gemm.c: handle and workspace of one stream */
struct lt_context;        /* lt.c: the same, and what the last search chose */
struct gate;              /* gate.c */
struct cuda_communicator; /* nccl.c */
struct managed;           /* memory_managed.c: what is allocated, and what fits */

struct cuda_device {
	struct device base;
	int priority_low, priority_high; /* of streams; a lower number is a higher priority */
	struct cuda_communicator *communicators; /* the open ones, for their asynchronous errors */
	cudaMemPool_t releasing;                 /* with a threshold of 0; made on first use */
	size_t granularity;                      /* of virtual memory; 0: not asked yet */
	struct managed *managed;
};

struct cuda_stream {
	struct stream base;
	cudaStream_t handle;
	struct gate *gate;             /* made by the first gate_close() */
	struct cublas_context *cublas; /* made by the first gemm() */
	struct lt_context *lt;         /* made by the first gemm_search() */
};

struct cuda_event {
	struct event base;
	cudaEvent_t handle;
};

/*
 * cuda_error.c. STATUS_OK, or the failure of `call` ("cudaMalloc(1GiB)") as "call: cudaErrorName:
 * text". The error is taken off the runtime's last-error slot, so that the next launch is not
 * blamed for it.
 */
enum status cuda_check(cudaError_t code, const char *call, struct error *err);
enum status cuda_check_size(cudaError_t code, const char *function, size_t bytes,
			    struct error *err);

/* device.c: makes `device` the current one; costs nothing when it is. */
enum status cuda_use(const struct device *device, struct error *err);

/* What backend.c's table points at, by file. */
int cuda_device_count(void);
/* emulate: see struct backend_options. */
enum status cuda_devices_find(int emulate, struct error *err);
int cuda_emulated_capability(void);
enum status cuda_drives(int index, char *how, size_t size, struct error *err);
size_t cuda_paths(struct code_path *out, size_t capacity);
enum status cuda_device_open(int index, struct device **out, struct error *err);
void cuda_device_close(struct device *device);
enum status cuda_device_synchronize(struct device *device, struct error *err);
enum status cuda_device_memory(struct device *device, uint64_t *free_bytes, uint64_t *total_bytes,
			       struct error *err);
enum status cuda_peer_access(struct device *device, struct device *peer, bool enable,
			     struct error *err);

enum status cuda_device_info(int index, struct device_info *out, struct error *err);

enum status cuda_memory_alloc(struct device *device, enum allocator allocator, size_t bytes,
			      struct stream *stream, void **out, struct error *err);
enum status cuda_memory_free(struct device *device, enum allocator allocator, void *memory,
			     size_t bytes, struct stream *stream, struct error *err);
enum status cuda_memory_trim(struct device *device, struct error *err);
enum status cuda_memory_view(struct device *device, struct memory_view *out, struct error *err);
/* memory_managed.c. Other allocations of device memory change what fits. */
struct managed *cuda_managed_open(void);
void cuda_managed_changed(struct device *device);
enum status cuda_managed_alloc(struct device *device, size_t bytes, void **out, struct error *err);
enum status cuda_managed_free(struct device *device, void *memory, size_t bytes,
			      struct error *err);

/* vmm.c */
enum status cuda_vmm_alloc(struct device *device, size_t bytes, void **out, struct error *err);
enum status cuda_vmm_free(struct device *device, void *memory, size_t bytes, struct error *err);
enum status cuda_range_reserve(struct device *device, size_t bytes, struct memory_range **out,
			       struct error *err);
enum status cuda_range_map(struct memory_range *range, size_t bytes, struct error *err);
enum status cuda_range_release(struct memory_range *range, struct error *err);
enum status cuda_memory_granularity(struct device *device, enum allocator allocator, size_t *bytes,
				    struct error *err);

enum status cuda_pool_keep(struct device *device, bool keep, struct error *err);
void cuda_pools_destroy(struct device *device);

enum status cuda_stream_create(struct device *device, bool high_priority, struct stream **out,
			       struct error *err);
void cuda_stream_destroy(struct stream *stream);
enum status cuda_stream_synchronize(struct stream *stream, struct error *err);
enum status cuda_stream_wait(struct stream *stream, struct event *event, struct error *err);
enum status cuda_event_create(struct device *device, struct event **out, struct error *err);
void cuda_event_destroy(struct event *event);
enum status cuda_event_record(struct event *event, struct stream *stream, struct error *err);
enum status cuda_event_synchronize(struct event *event, struct error *err);
enum status cuda_event_elapsed(struct event *start, struct event *end, double *seconds,
			       struct error *err);

enum status cuda_gate_close(struct stream *stream, double timeout_seconds, struct error *err);
enum status cuda_gate_open(struct stream *stream, struct error *err);
void cuda_gate_release(struct cuda_stream *stream);

enum status cuda_copy(struct stream *stream, void *to, const void *from, size_t bytes,
		      struct error *err);
enum status cuda_copy_peer(struct stream *stream, void *to, struct device *to_device,
			   const void *from, struct device *from_device, size_t bytes,
			   struct error *err);
enum status cuda_copy_rows(struct stream *stream, void *to, size_t to_stride, const void *from,
			   size_t from_stride, size_t row_bytes, size_t rows, struct error *err);
enum status cuda_memory_set(struct stream *stream, void *memory, int byte, size_t bytes,
			    struct error *err);

enum status cuda_gemm(struct stream *stream, const struct gemm *gemm, struct error *err);
size_t cuda_gemm_workspace(struct device *device);
enum status cuda_gemm_search(struct stream *stream, const struct gemm *gemm,
			     const struct fastest_rules *rules, struct gemm_choice *out,
			     struct error *err);
void cublas_context_free(struct cublas_context *context);
void lt_context_free(struct lt_context *context);

enum status cuda_communicator_id(struct communicator_id *out, struct error *err);
enum status cuda_communicator_open(struct device *device, const struct communicator_id *id,
				   int rank, int size, struct communicator **out,
				   struct error *err);
enum status cuda_communicator_open_within(struct device *device, const struct communicator_id *id,
					  int rank, int size, int multiprocessors,
					  struct communicator **out, struct error *err);
enum status cuda_transport_usable(struct device *device, enum transport transport, uint64_t devices,
				  struct error *err);
enum status cuda_communicator_open_over(struct device *device, enum transport transport,
					const struct communicator_id *id, int rank, int size,
					int multiprocessors, struct communicator **out,
					struct error *err);
void cuda_communicator_close(struct communicator *communicator);
enum status cuda_all_reduce(struct communicator *communicator, struct stream *stream, void *to,
			    const void *from, size_t count, enum precision precision,
			    enum reduction reduction, struct error *err);
enum status cuda_broadcast(struct communicator *communicator, struct stream *stream, void *buffer,
			   size_t bytes, int root, struct error *err);
enum status cuda_send(struct communicator *communicator, struct stream *stream, const void *from,
		      size_t bytes, int peer, struct error *err);
enum status cuda_receive(struct communicator *communicator, struct stream *stream, void *to,
			 size_t bytes, int peer, struct error *err);
enum status cuda_group_begin(struct communicator *communicator, struct error *err);
enum status cuda_group_end(struct communicator *communicator, struct error *err);
enum status cuda_all_gather(struct communicator *communicator, struct stream *stream, void *to,
			    const void *from, size_t count_per_rank, enum precision precision,
			    struct error *err);
enum status cuda_reduce_scatter(struct communicator *communicator, struct stream *stream, void *to,
				const void *from, size_t count_per_rank, enum precision precision,
				enum reduction reduction, struct error *err);
enum status cuda_reduce(struct communicator *communicator, struct stream *stream, void *to,
			const void *from, size_t count, enum precision precision,
			enum reduction reduction, int root, struct error *err);
enum status cuda_all_to_all(struct communicator *communicator, struct stream *stream, void *to,
			    const void *from, size_t count_per_rank, enum precision precision,
			    struct error *err);
/* The asynchronous errors of the device's open communicators, after a synchronisation. */
enum status cuda_communicators_check(struct cuda_device *device, struct error *err);

enum status cuda_telemetry(struct device *device, struct telemetry *out, struct error *err);
enum status cuda_telemetry_quick(struct device *device, struct telemetry *out, struct error *err);
enum status cuda_link_errors(struct device *device, int64_t *out, struct error *err);

enum status cuda_graph_begin(struct stream *stream, struct error *err);
enum status cuda_graph_end(struct stream *stream, struct graph **out, struct error *err);
enum status cuda_graph_launch(struct graph *graph, struct stream *stream, struct error *err);
void cuda_graph_destroy(struct graph *graph);
enum status cuda_host_callback(struct stream *stream, callback_fn *callback, void *context,
			       struct error *err);

void cuda_facts(fact_fn *add, void *context);
size_t cuda_components(struct component *out, size_t capacity);
size_t cuda_findings(struct finding *out, size_t capacity);

/*
 * gate.cu: spins until *opened >= ticket or `timeout_ns` of the device's clock; then writes
 * *expired = ticket.
 */
#ifdef __cplusplus
extern "C"
#endif
	enum status
	cuda_gate_launch(struct stream *stream, const volatile unsigned *opened,
			 volatile unsigned *expired, unsigned ticket, unsigned long long timeout_ns,
			 struct error *err);

#endif
