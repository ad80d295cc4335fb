/*
 * Copying by a kernel: see copy.h. Links are busiest with few but wide requests: 16 bytes a
 * thread, several of them in flight, one block for each multiprocessor.
 */
#include "kernels/copy.h"

#include "device/cuda/cuda_kernel.h"

#define THREADS 512
/* Vectors that a thread has in flight. */
#define DEPTH 8

/* What is copied is not read again here: it should not push anything out of the first cache. */
static __device__ __forceinline__ uint4 load(const uint4 *from)
{
	return __ldcs(from);
}

static __device__ __forceinline__ void store(uint4 *to, uint4 value)
{
	__stcs(to, value);
}

/*
 * DEPTH vectors `lane` apart from vector `first` on, then `step` further, while they lie within
 * `count`; vector by vector where they end.
 */
static __device__ void move(uint4 *to, const uint4 *from, uint64_t count, uint64_t first,
			    uint64_t lane, uint64_t step)
{
	for (uint64_t at = first; at < count; at += step) {
		uint4 x[DEPTH];

		if (at + (DEPTH - 1) * lane < count) {
#pragma unroll
			for (int k = 0; k < DEPTH; k++)
				x[k] = load(from + at + k * lane);
#pragma unroll
			for (int k = 0; k < DEPTH; k++)
				store(to + at + k * lane, x[k]);
			continue;
		}
		for (uint64_t k = at; k < count && k < at + DEPTH * lane; k += lane)
			store(to + k, load(from + k));
	}
}

/* The bytes behind the last whole vector. */
static __device__ void move_rest(char *to, const char *from, uint64_t bytes)
{
	if (blockIdx.x == 0 && threadIdx.x < bytes % 16)
		to[bytes / 16 * 16 + threadIdx.x] = from[bytes / 16 * 16 + threadIdx.x];
}

static __global__ void __launch_bounds__(THREADS, 2)
	copy_strided(char *to, const char *from, uint64_t bytes)
{
	uint64_t threads = (uint64_t)gridDim.x * THREADS;

	move((uint4 *)to, (const uint4 *)from, bytes / 16,
	     (uint64_t)blockIdx.x * THREADS + threadIdx.x, threads, DEPTH * threads);
	move_rest(to, from, bytes);
}

static __global__ void __launch_bounds__(THREADS, 2)
	copy_blocked(char *to, const char *from, uint64_t bytes)
{
	move((uint4 *)to, (const uint4 *)from, bytes / 16,
	     (uint64_t)blockIdx.x * THREADS * DEPTH + threadIdx.x, THREADS,
	     (uint64_t)gridDim.x * THREADS * DEPTH);
	move_rest(to, from, bytes);
}

/* The bulk copies' ring of stages in shared memory, of which LAG may still be written out. */
#define STAGE_BYTES 16384
#define STAGES 6
#define LAG 3

/* What one block copies: pieces of STAGE_BYTES, as many blocks apart as there are. */
struct pieces {
	char *to;
	const char *from;
	uint64_t bytes, count; /* all of them; this block's pieces */
	char *ring;
	uint64_t *full; /* a barrier for each stage: its piece has arrived */
};

#if __CUDA_ARCH__ >= 900
static __device__ __forceinline__ unsigned shared_address(const void *p)
{
	return (unsigned)__cvta_generic_to_shared(p);
}

static __device__ __forceinline__ uint64_t piece_at(uint64_t k)
{
	return (blockIdx.x + k * gridDim.x) * STAGE_BYTES;
}

static __device__ __forceinline__ unsigned piece_bytes(const struct pieces *p, uint64_t k)
{
	uint64_t left = p->bytes - piece_at(k);

	return left < STAGE_BYTES ? (unsigned)left : STAGE_BYTES;
}

static __device__ void piece_load(const struct pieces *p, uint64_t k)
{
	unsigned stage = k % STAGES, full = shared_address(&p->full[stage]);
	unsigned bytes = piece_bytes(p, k);

	asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(full),
		     "r"(bytes)
		     : "memory");
	asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
		     "[%0], [%1], %2, [%3];" ::"r"(shared_address(p->ring + stage * STAGE_BYTES)),
		     "l"(p->from + piece_at(k)), "r"(bytes), "r"(full)
		     : "memory");
}

static __device__ void piece_wait(const struct pieces *p, uint64_t k)
{
	unsigned full = shared_address(&p->full[k % STAGES]), parity = k / STAGES & 1, done;

	do
		asm volatile("{\n"
			     ".reg .pred done;\n"
			     "mbarrier.try_wait.parity.shared::cta.b64 done, [%1], %2;\n"
			     "selp.u32 %0, 1, 0, done;\n"
			     "}"
			     : "=r"(done)
			     : "r"(full), "r"(parity)
			     : "memory");
	while (!done);
}

static __device__ void piece_store(const struct pieces *p, uint64_t k)
{
	asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(
			     p->to + piece_at(k)),
		     "r"(shared_address(p->ring + k % STAGES * STAGE_BYTES)),
		     "r"(piece_bytes(p, k))
		     : "memory");
	asm volatile("cp.async.bulk.commit_group;");
}
#endif

/* One thread drives the ring; the copies themselves are the hardware's. */
static __global__ void copy_bulk(char *to, const char *from, uint64_t bytes)
{
#if __CUDA_ARCH__ >= 900
	extern __shared__ __align__(128) char ring[];
	__shared__ __align__(8) uint64_t full[STAGES];
	uint64_t whole = bytes / 16 * 16, all = (whole + STAGE_BYTES - 1) / STAGE_BYTES;
	struct pieces p = { to, from, whole, 0, ring, full };

	move_rest(to, from, bytes);
	if (threadIdx.x != 0)
		return;
	if (blockIdx.x < all)
		p.count = (all - blockIdx.x + gridDim.x - 1) / gridDim.x;
	for (int i = 0; i < STAGES; i++)
		asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(
			shared_address(&full[i])));
	asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
	for (uint64_t k = 0; k < STAGES - LAG && k < p.count; k++)
		piece_load(&p, k);
	for (uint64_t k = 0; k < p.count; k++) {
		piece_wait(&p, k);
		piece_store(&p, k);
		if (k + STAGES - LAG >= p.count)
			continue;
		asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(LAG) : "memory");
		piece_load(&p, k + STAGES - LAG);
	}
	asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
#endif
}

static enum status launch_bulk(struct stream *stream, const struct copy_arguments *a,
			       struct error *err)
{
	cudaStream_t handle = cuda_stream_handle(stream);
	unsigned blocks = (unsigned)cuda_stream_multiprocessors(stream);

	if (stream->device->info.capability_major < 9)
		return error_set(err, STATUS_UNSUPPORTED,
				 "bulk copies need compute capability 9.0; %s has %d.%d",
				 stream->device->info.id, stream->device->info.capability_major,
				 stream->device->info.capability_minor);
	cudaFuncSetAttribute(copy_bulk, cudaFuncAttributeMaxDynamicSharedMemorySize,
			     STAGES * STAGE_BYTES);
	copy_bulk<<<blocks, 32, STAGES * STAGE_BYTES, handle>>>((char *)a->to, (const char *)a->from,
								a->bytes);
	return cuda_check_launch("copy", err);
}

extern "C" enum status kernel_cuda_copy(struct stream *stream, const void *arguments,
					struct error *err)
{
	const struct copy_arguments *a = (const struct copy_arguments *)arguments;
	cudaStream_t handle = cuda_stream_handle(stream);
	uint64_t blocks = (a->bytes / 16 + THREADS - 1) / THREADS;
	uint64_t most = (uint64_t)cuda_stream_multiprocessors(stream);

	if (((uintptr_t)a->to | (uintptr_t)a->from) % 16)
		return error_set(err, STATUS_INTERNAL, "copy: memory must be aligned to 16 bytes");
	if (a->method == COPY_BULK)
		return launch_bulk(stream, a, err);
	blocks = blocks < 1 ? 1 : blocks > most ? most : blocks;
	if (a->method == COPY_BLOCKED)
		copy_blocked<<<(unsigned)blocks, THREADS, 0, handle>>>(
			(char *)a->to, (const char *)a->from, a->bytes);
	else
		copy_strided<<<(unsigned)blocks, THREADS, 0, handle>>>(
			(char *)a->to, (const char *)a->from, a->bytes);
	return cuda_check_launch("copy", err);
}
