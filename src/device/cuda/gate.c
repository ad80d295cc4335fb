/*
 * Gate: a one-thread kernel that spins on a flag in mapped host memory. Each closing has a ticket,
 * so one opening opens several closings on a stream, and a kernel that starts late sees that its
 * gate is open already.
 *
 * A call that waits for the whole device (first launch of a kernel, cudaFree) while a gate is
 * closed blocks until the gate expires. Callers therefore warm up first, and gate_open() reports an
 * expired gate.
 */
#include "device/cuda/cuda_backend.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/units.h"

/* In mapped host memory. Each word has a single writer. */
struct gate_words {
	volatile unsigned opened;  /* written by the host: highest ticket that may pass */
	volatile unsigned expired; /* written by the device: highest expired ticket */
};

struct gate {
	struct gate_words *words, *device_words;
	unsigned ticket;   /* ticket of the latest closing */
	unsigned reported; /* highest expired ticket reported to a caller */
	double timeout_seconds;
};

static enum status gate_new(struct gate **out, struct error *err)
{
	struct gate *gate = xcalloc(1, sizeof(*gate));
	enum status status;

	status = cuda_check(cudaHostAlloc((void **)&gate->words, sizeof(*gate->words),
					  cudaHostAllocMapped | cudaHostAllocPortable),
			    "cudaHostAlloc for the gate", err);
	if (status == STATUS_OK) {
		gate->words->opened = gate->words->expired = 0;
		status = cuda_check(cudaHostGetDevicePointer((void **)&gate->device_words,
							     gate->words, 0),
				    "cudaHostGetDevicePointer for the gate", err);
	}
	if (status != STATUS_OK) {
		cudaFreeHost(gate->words);
		free(gate);
		return status;
	}
	*out = gate;
	return STATUS_OK;
}

enum status cuda_gate_close(struct stream *stream, double timeout_seconds, struct error *err)
{
	struct cuda_stream *s = (struct cuda_stream *)stream;
	enum status status = cuda_use(stream->device, err);

	if (status == STATUS_OK && !s->gate)
		status = gate_new(&s->gate, err);
	if (status != STATUS_OK)
		return status;
	s->gate->timeout_seconds = timeout_seconds;
	s->gate->ticket++;
	return cuda_gate_launch(stream, &s->gate->device_words->opened,
				&s->gate->device_words->expired, s->gate->ticket,
				(unsigned long long)(timeout_seconds * 1e9), err);
}

/*
 * A gate that expires at the moment of opening may stay unreported: the batch is enqueued by then,
 * which is all that the gate guarantees.
 */
enum status cuda_gate_open(struct stream *stream, struct error *err)
{
	struct gate *gate = ((struct cuda_stream *)stream)->gate;
	unsigned expired;
	char limit[32];

	if (!gate)
		return STATUS_OK;
	expired = gate->words->expired;
	gate->words->opened = gate->ticket;
	__sync_synchronize();
	if (expired == gate->reported)
		return STATUS_OK;
	gate->reported = expired;
	return error_set(err, STATUS_TIMEOUT,
			 "the gate of a stream of %s timed out after %s: queueing took longer, or "
			 "a call waited for the device",
			 stream->device->info.id,
			 units_format(gate->timeout_seconds, "s", limit, sizeof(limit)));
}

void cuda_gate_release(struct cuda_stream *stream)
{
	struct gate *gate = stream->gate;

	if (!gate)
		return;
	gate->words->opened = gate->ticket;
	__sync_synchronize();
	cudaStreamSynchronize(stream->handle);
	cudaFreeHost(gate->words);
	free(gate);
	stream->gate = NULL;
}
