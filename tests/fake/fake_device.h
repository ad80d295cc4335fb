/* Declarations that the fake backend's files share. */
#ifndef GPUPROOF_TESTS_FAKE_DEVICE_H
#define GPUPROOF_TESTS_FAKE_DEVICE_H

#include "device/host/host_device.h"
#include "fake_backend.h"
#include "script.h"

#define HOST (&backend_host)

struct fake_stream {
	struct stream base;
	struct stream *host;
	double now;           /* the scripted clock */
	double recorded_from; /* what it was at graph_begin() */
};

static inline struct fake_stream *fake(struct stream *stream)
{
	return (struct fake_stream *)stream;
}

static inline struct stream *host(struct stream *stream)
{
	return stream ? fake(stream)->host : NULL;
}

/* Work draws power from the first operation to the wait for it (fake_power.c). */
void fake_power_work(const struct device *device);
void fake_power_rest(const struct device *device);
/* Joules up to now by a counter of the script's watts; mean power since the last reading, NAN. */
double fake_power_joules(const struct device *device);
double fake_power_watts(const struct device *device);

/*
 * Within a collective, whose relay calls operations of its own: they neither count nor take time.
 */
extern int fake_nested;

/*
 * Time passes on the stream: the latency of an operation and `seconds` of work, longer on a slow
 * device.
 */
static inline void time_passes(struct stream *stream, double seconds)
{
	const struct script *script = script_now();
	bool slow = stream->device && stream->device->info.index == script->slow;

	if (fake_nested)
		return;
	fake(stream)->now += (FAKE_LATENCY + seconds) * (slow ? 1 + script->slowness : 1);
}

static inline void pass(struct stream *stream, double seconds)
{
	fake_power_work(stream->device);
	time_passes(stream, seconds);
}

/* Every operation begins so. */
#define CALL(operation)                                                       \
	do {                                                                  \
		if (!fake_nested && script_call(operation, err) != STATUS_OK) \
			return err ? err->status : STATUS_DEVICE;             \
	} while (0)

/*
 * The operations, in the files of this folder; a prototype without a function is of one that the
 * table lacks.
 */
#define FUNCTION(result, name, parameters) result fake_##name parameters;
#include "device/backend.def"

#endif
