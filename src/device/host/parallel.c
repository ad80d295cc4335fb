/* The only place of the host backend that starts parallel work. */
#include "device/host/host_kernel.h"

unsigned host_threads(struct stream *stream)
{
	int cores = host_device(stream->device)->share->cores;

	return cores > HOST_PARALLEL_MAX ? HOST_PARALLEL_MAX : (unsigned)cores;
}

unsigned host_parallel(struct stream *stream, uint64_t count, uint64_t grain, host_slice_fn *slice,
		       void *context)
{
	uint64_t most = grain > 0 ? count / grain : count;
	unsigned parts = host_threads(stream);

	if (most < parts)
		parts = most > 1 ? (unsigned)most : 1;
	if (parts == 1) {
		slice(context, 0, 0, count);
		return 1;
	}
	/* The team belongs to the stream's thread and inherits its binding to the share. */
#ifdef _OPENMP
#pragma omp parallel for num_threads(parts) schedule(static, 1)
#endif
	for (unsigned part = 0; part < parts; part++) {
		uint64_t begin = count / parts * part + (count % parts * part) / parts;
		uint64_t end = count / parts * (part + 1) + (count % parts * (part + 1)) / parts;

		slice(context, part, begin, end);
	}
	return parts;
}
