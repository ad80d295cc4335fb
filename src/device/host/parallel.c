/* Divides an operation of the host backend: the only place that uses a stream's thread pool. */
#include "device/host/thread_pool.h"
#include "kernels/launch/host_kernel.h"

unsigned host_threads(struct stream *stream)
{
	int cores = host_device(stream->device)->partition->cores;

	return cores > HOST_PARALLEL_MAX ? HOST_PARALLEL_MAX : (unsigned)cores;
}

struct slices {
	host_slice_fn *slice;
	void *context;
	uint64_t count;
};

static void run_part(void *context, unsigned part, unsigned parts)
{
	const struct slices *s = context;
	uint64_t share = s->count / parts, rest = s->count % parts;

	s->slice(s->context, part, share * part + rest * part / parts,
		 share * (part + 1) + rest * (part + 1) / parts);
}

unsigned host_parallel(struct stream *stream, uint64_t count, uint64_t grain, host_slice_fn *slice,
		       void *context)
{
	struct host_stream *s = host_stream(stream);
	struct slices slices = { slice, context, count };
	uint64_t most = grain > 0 ? count / grain : count;
	unsigned parts = host_threads(stream);

	if (most < parts)
		parts = most > 1 ? (unsigned)most : 1;
	if (parts == 1) {
		slice(context, 0, 0, count);
		return 1;
	}
	if (!s->pool)
		s->pool = thread_pool_new(host_device(stream->device)->partition,
					  host_threads(stream));
	thread_pool_run(s->pool, parts, run_part, &slices);
	return parts;
}
