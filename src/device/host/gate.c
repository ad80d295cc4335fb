/* Gate of the host backend: an operation that waits for the driving thread. */
#include "base/clock.h"
#include "device/host/stream.h"

struct gate_arguments {
	uint32_t number;
	double timeout_seconds;
};

static enum status gate_run(struct stream *stream, const void *arguments, struct error *err)
{
	const struct gate_arguments *gate = arguments;
	struct host_stream *s = host_stream(stream);

	(void)err;
	/* gate_open() reports the timeout; operations after the gate still run. */
	if (!counter_wait(&s->gates_opened, gate->number, clock_seconds() + gate->timeout_seconds))
		atomic_store(&s->gate_timed_out, gate->number);
	return STATUS_OK;
}

enum status host_gate_close(struct stream *stream, double timeout_seconds, struct error *err)
{
	struct gate_arguments gate = { host_stream(stream)->gates_closed + 1, timeout_seconds };

	if (stream_refuse_recording(stream, "gates", err) != STATUS_OK)
		return STATUS_UNSUPPORTED;
	host_stream(stream)->gates_closed++;
	return stream_enqueue_always(stream, gate_run, &gate, sizeof(gate), err);
}

enum status host_gate_open(struct stream *stream, struct error *err)
{
	struct host_stream *s = host_stream(stream);

	counter_raise(&s->gates_opened, s->gates_closed);
	if (s->gates_closed == 0 || atomic_load(&s->gate_timed_out) != s->gates_closed)
		return STATUS_OK;
	atomic_store(&s->gate_timed_out, 0);
	return error_set(err, STATUS_TIMEOUT,
			 "the gate of a stream opened by itself before gate_open()");
}
