/* A host device: one share of the machine's cores and memory. */
#ifndef GPUPROOF_HOST_DEVICE_H
#define GPUPROOF_HOST_DEVICE_H

#include <stdatomic.h>

#include "device/backend.h"
#include "device/host/share.h"

struct host_stream;

struct host_device {
	struct device base;
	const struct share *share;
	struct host_stream *streams;      /* list, for device_synchronize */
	uint64_t machine_bytes;           /* memory this process may use, all devices */
	_Atomic uint64_t allocated_bytes; /* ALLOCATOR_DEVICE */
	_Atomic uint64_t host_bytes;      /* the other allocators */
	_Atomic uint64_t workspace_bytes; /* of GEMMs that convert, all streams */
};

static inline struct host_device *host_device(struct device *device)
{
	return (struct host_device *)device;
}

extern const struct backend backend_host;

/* memory.c */
enum status host_memory_alloc(struct device *device, enum allocator allocator, size_t bytes,
			      struct stream *stream, void **out, struct error *err);
enum status host_memory_free(struct device *device, enum allocator allocator, void *memory,
			     size_t bytes, struct stream *stream, struct error *err);
enum status host_memory_trim(struct device *device, struct error *err);
enum status host_device_memory(struct device *device, uint64_t *free_bytes, uint64_t *total_bytes,
			       struct error *err);
enum status host_memory_view(struct device *device, struct memory_view *out, struct error *err);

/*
 * `used` and `total` are those of the pool the memory is counted in: STATUS_NO_MEMORY when `bytes` are more
 * than is left, or than the machine has.
 */
enum status host_check_fits(const char *kind, uint64_t bytes, uint64_t used, uint64_t total,
			    struct error *err);
/* Addresses without memory; then memory behind whole pages of them. Undone with munmap(). */
enum status host_reserve(const char *kind, size_t bytes, void **out, struct error *err);
enum status host_commit(struct host_device *device, const char *kind, void *at, size_t bytes,
			struct error *err);

/* range.c */
enum status host_range_reserve(struct device *device, size_t bytes, struct memory_range **out,
			       struct error *err);
enum status host_range_map(struct memory_range *range, size_t bytes, struct error *err);
enum status host_range_release(struct memory_range *range, struct error *err);
enum status host_memory_granularity(struct device *device, enum allocator allocator, size_t *bytes,
				    struct error *err);

/* copy.c */
enum status host_copy_rows(struct stream *stream, void *to, size_t to_stride, const void *from,
			   size_t from_stride, size_t row_bytes, size_t rows, struct error *err);
enum status host_copy(struct stream *stream, void *to, const void *from, size_t bytes,
		      struct error *err);
enum status host_copy_peer(struct stream *stream, void *to, struct device *to_device,
			   const void *from, struct device *from_device, size_t bytes,
			   struct error *err);
enum status host_memory_set(struct stream *stream, void *memory, int byte, size_t bytes,
			    struct error *err);

/* gemm.c */
enum status host_gemm(struct stream *stream, const struct gemm *gemm, struct error *err);
size_t host_gemm_workspace(struct device *device);

/* telemetry.c */
enum status host_telemetry(struct device *device, struct telemetry *out, struct error *err);

/* facts.c */
void host_facts(fact_fn *add, void *context);
size_t host_components(struct component *out, size_t capacity);

/* kernels.c */
kernel_fn *host_kernel(const char *name);

#endif
