/* Kernel of a gate (stream.c). */
#include "device/cuda/cuda_backend.h"
#include "kernels/device_clock.cuh"

static __global__ void gate_kernel(const volatile unsigned *opened, volatile unsigned *expired,
				   unsigned ticket, unsigned long long timeout_ns)
{
	unsigned long long start = device_clock_ns();

	while (*opened < ticket) {
		if (device_clock_ns() - start >= timeout_ns) {
			if (*opened < ticket)
				*expired = ticket;
			break;
		}
		device_clock_relax();
	}
	__threadfence_system();
}

enum status cuda_gate_launch(struct stream *stream, const volatile unsigned *opened,
			     volatile unsigned *expired, unsigned ticket,
			     unsigned long long timeout_ns, struct error *err)
{
	gate_kernel<<<1, 1, 0, cuda_stream_handle(stream)>>>(opened, expired, ticket, timeout_ns);
	return cuda_device_check_launch("gate", err);
}
