/*
 * The backend `fake`, a module for tests only: the host backend does the work, so every suite runs
 * and verifies on it, but time is scripted (so medians are known) and it fails, crashes or hangs as
 * $GPUPROOF_FAKE says (script.h).
 *
 * Each stream has a clock of its own that operations move: a copy or fill by FAKE_LATENCY + bytes /
 * FAKE_BANDWIDTH, a product by FAKE_LATENCY + flops / FAKE_THROUGHPUT, any kernel by FAKE_LATENCY.
 * Events read it, a wait takes the later of two.
 */
#include "fake_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "device/architecture.h"
#include "kernels/generator.h"

struct fake_event {
	struct event base;
	struct event *host;
	double at;
};

static struct script script;
static int emulated;
static struct code_path taken[4]; /* of products */
static size_t taken_count;
static uint64_t used_bytes[64]; /* of each device */
static uint64_t readings;

enum status fake_open(const struct backend_options *options, struct error *err)
{
	struct backend_options own = *options;

	if (script_read(&script, err) != STATUS_OK)
		return err->status;
	CALL("open");
	emulated = options->emulate_capability;
	own.host_devices = script.devices;
	return HOST->open(&own, err);
}

void fake_close(void)
{
	HOST->close();
}

int fake_device_count(void)
{
	return script.devices;
}

/*
 * A GPU's abilities as far as the CPU can stand in for them; before 6.0 without pools, as an
 * emulated device is.
 */
static void take_capability(struct device_info *out)
{
	int capability = emulated ? emulated : script.capability;

	snprintf(out->vbios, sizeof(out->vbios), "%s", script.vbios);
	out->capabilities |= DEVICE_HAS_POOLS;
	if (!capability)
		return;
	if (emulated)
		snprintf(out->emulated_on, sizeof(out->emulated_on), "%d.%d",
			 script.capability / 10 % 100, script.capability % 10);
	out->capability_major = capability / 10;
	out->capability_minor = capability % 10;
	out->capabilities = architecture_capabilities(capability) |
			    device_implied_capabilities(out) | DEVICE_HAS_COLLECTIVES |
			    DEVICE_SHARES_HOST_MEMORY | (capability >= 60 ? DEVICE_HAS_POOLS : 0);
}

enum status fake_device_info(int index, struct device_info *out, struct error *err)
{
	CALL("device_info");
	if (HOST->device_info(index, out, err) != STATUS_OK)
		return err->status;
	snprintf(out->id, sizeof(out->id), "fake:%d", index);
	snprintf(out->backend, sizeof(out->backend), "fake");
	snprintf(out->module, sizeof(out->module), "fake");
	snprintf(out->name, sizeof(out->name), "Scripted device");
	snprintf(out->uuid, sizeof(out->uuid), "FAKE-%d", index);
	snprintf(out->serial, sizeof(out->serial), "4711-000%d", index);
	out->capabilities |= DEVICE_HAS_POOLS;
	out->capabilities &= ~(unsigned)DEVICE_IS_HOST;
	if (script.own_memory)
		out->capabilities &= ~(unsigned)DEVICE_SHARES_HOST_MEMORY;
	take_capability(out);
	out->memory_bytes = out->memory_free_bytes = script.memory_bytes;
	out->l2_bytes = 4u << 20; /* the host's would make plans differ from machine to machine */
	return STATUS_OK;
}

void fake_facts(fact_fn *add, void *context)
{
	add(context, "fake driver", "1.0");
}

enum status fake_device_open(int index, struct device **out, struct error *err)
{
	CALL("device_open");
	if (HOST->device_open(index, out, err) != STATUS_OK)
		return err->status;
	(*out)->backend = &gpuproof_backend;
	return fake_device_info(index, &(*out)->info, err);
}

void fake_device_close(struct device *device)
{
	HOST->device_close(device);
}

enum status fake_device_synchronize(struct device *device, struct error *err)
{
	enum status status = HOST->device_synchronize(device, err);

	fake_power_rest(device);

	CALL("device_synchronize");
	return status;
}

enum status fake_device_memory(struct device *device, uint64_t *free_bytes, uint64_t *total_bytes,
			       struct error *err)
{
	CALL("device_memory");
	*total_bytes = script.memory_bytes;
	*free_bytes = script.memory_bytes - used_bytes[device->info.index];
	return STATUS_OK;
}

enum status fake_peer_access(struct device *device, struct device *peer, bool enable,
			     struct error *err)
{
	(void)device;
	(void)peer;
	(void)enable;
	CALL("peer_access");
	return STATUS_OK;
}

enum status fake_telemetry(struct device *device, struct telemetry *out, struct error *err)
{
	CALL("telemetry");
	return HOST->telemetry(device, out, err);
}

enum status fake_telemetry_quick(struct device *device, struct telemetry *out, struct error *err)
{
	/* Another thread: it is no call of the script's. */
	if (HOST->telemetry_quick(device, out, err) != STATUS_OK)
		return err->status;
	out->power_watts = fake_power_watts(device);
	out->power_window_seconds = 0.1;
	return STATUS_OK;
}

enum status fake_energy(struct device *device, struct energy *out, struct error *err)
{
	CALL("energy");
	if (!(script.watts > 0) || script.no_counter)
		return error_set(err, STATUS_UNSUPPORTED, "%s has no energy counter",
				 device->info.id);
	*out = (struct energy){ .joules = fake_power_joules(device), .update_seconds = 1e-3 };
	snprintf(out->domain, sizeof(out->domain), "%s", device->info.uuid);
	snprintf(out->source, sizeof(out->source), "a scripted counter");
	return STATUS_OK;
}

enum status fake_callback(struct stream *stream, callback_fn *callback, void *context,
			  struct error *err)
{
	CALL("callback");
	pass(stream, 0);
	return HOST->callback(host(stream), callback, context, err);
}

/*
 * A CPU has no pool and no write-combined memory; here they are there, so that suites' cases for
 * them run.
 */
static enum allocator stand_in(enum allocator allocator)
{
	if (allocator == ALLOCATOR_POOL || allocator == ALLOCATOR_POOL_RELEASE ||
	    allocator == ALLOCATOR_MANAGED)
		return ALLOCATOR_DEVICE;
	return allocator == ALLOCATOR_WRITE_COMBINED ? ALLOCATOR_PINNED : allocator;
}

enum status fake_memory_alloc(struct device *device, enum allocator allocator, size_t bytes,
			      struct stream *stream, void **out, struct error *err)
{
	uint64_t *used = &used_bytes[device->info.index];
	enum status status;

	CALL("memory_alloc");
	if (allocator == ALLOCATOR_POOL && !(device->info.capabilities & DEVICE_HAS_POOLS))
		return error_set(err, STATUS_UNSUPPORTED, "%s has no pools", device->info.id);
	if (allocator_on_device(allocator) && bytes > script.memory_bytes - *used)
		return error_set(err, STATUS_NO_MEMORY,
				 "fake memory_alloc: FAKE_ERROR_OUT_OF_MEMORY");
	status = HOST->memory_alloc(device, stand_in(allocator), bytes, host(stream), out, err);
	if (status == STATUS_OK && allocator_on_device(allocator))
		*used += bytes;
	return status;
}

enum status fake_memory_trim(struct device *device, struct error *err)
{
	CALL("memory_trim");
	return HOST->memory_trim(device, err);
}

enum status fake_memory_free(struct device *device, enum allocator allocator, void *memory,
			     size_t bytes, struct stream *stream, struct error *err)
{
	struct error ignored = ERROR_NONE;

	HOST->device_synchronize(device, &ignored); /* as cudaFree() does */
	if (memory && allocator_on_device(allocator))
		used_bytes[device->info.index] -= bytes;
	/*
	 * The host's memory is given back even when the call is told to fail: leak checks look at
	 * it.
	 */
	if (HOST->memory_free(device, stand_in(allocator), memory, bytes, host(stream), err) !=
	    STATUS_OK)
		return err->status;
	CALL("memory_free");
	return STATUS_OK;
}

enum status fake_range_reserve(struct device *device, size_t bytes, struct memory_range **out,
			       struct error *err)
{
	CALL("range_reserve");
	return HOST->range_reserve(device, bytes, out, err);
}

enum status fake_range_map(struct memory_range *range, size_t bytes, struct error *err)
{
	uint64_t *used = &used_bytes[range->device->info.index];

	CALL("range_map");
	if (bytes > script.memory_bytes - *used)
		return error_set(err, STATUS_NO_MEMORY, "fake range_map: FAKE_ERROR_OUT_OF_MEMORY");
	if (HOST->range_map(range, bytes, err) != STATUS_OK)
		return err->status;
	*used += bytes;
	return STATUS_OK;
}

enum status fake_range_release(struct memory_range *range, struct error *err)
{
	used_bytes[range->device->info.index] -= range->mapped;
	if (HOST->range_release(range, err) != STATUS_OK)
		return err->status;
	CALL("range_release");
	return STATUS_OK;
}

enum status fake_stream_create(struct device *device, bool high_priority, struct stream **out,
			       struct error *err)
{
	struct fake_stream *stream;
	struct stream *made;

	CALL("stream_create");
	if (HOST->stream_create(device, high_priority, &made, err) != STATUS_OK)
		return err->status;
	stream = xcalloc(1, sizeof(*stream));
	stream->base.device = device;
	stream->host = made;
	*out = &stream->base;
	return STATUS_OK;
}

void fake_stream_destroy(struct stream *stream)
{
	if (stream)
		HOST->stream_destroy(host(stream));
	free(stream);
}

enum status fake_stream_synchronize(struct stream *stream, struct error *err)
{
	/*
	 * A device that is told to fail still has its threads: they must be done with the memory
	 * that is freed next.
	 */
	enum status status = HOST->stream_synchronize(host(stream), err);

	fake_power_rest(stream->device);

	CALL("stream_synchronize");
	return status;
}

enum status fake_stream_wait(struct stream *stream, struct event *event, struct error *err)
{
	struct fake_event *e = (struct fake_event *)event;

	CALL("stream_wait");
	if (e->at > fake(stream)->now)
		fake(stream)->now = e->at;
	return HOST->stream_wait(host(stream), e->host, err);
}

enum status fake_event_create(struct device *device, struct event **out, struct error *err)
{
	struct fake_event *event;
	struct event *made;

	CALL("event_create");
	if (HOST->event_create(device, &made, err) != STATUS_OK)
		return err->status;
	event = xcalloc(1, sizeof(*event));
	event->base.device = device;
	event->host = made;
	*out = &event->base;
	return STATUS_OK;
}

void fake_event_destroy(struct event *event)
{
	if (event)
		HOST->event_destroy(((struct fake_event *)event)->host);
	free(event);
}

enum status fake_event_record(struct event *event, struct stream *stream, struct error *err)
{
	struct fake_event *e = (struct fake_event *)event;

	CALL("event_record");
	e->at = fake(stream)->now;
	return HOST->event_record(e->host, host(stream), err);
}

enum status fake_event_synchronize(struct event *event, struct error *err)
{
	enum status status = HOST->event_synchronize(((struct fake_event *)event)->host, err);

	fake_power_rest(event->device);
	CALL("event_synchronize");
	return status;
}

enum status fake_event_reached(struct event *event, bool *out, struct error *err)
{
	enum status status = HOST->event_reached(((struct fake_event *)event)->host, out, err);

	CALL("event_reached");
	return status;
}

enum status fake_event_elapsed(struct event *start, struct event *end, double *seconds,
			       struct error *err)
{
	double between = ((struct fake_event *)end)->at - ((struct fake_event *)start)->at;

	CALL("event_elapsed");
	if (script.host_clock)
		return HOST->event_elapsed(((struct fake_event *)start)->host,
					   ((struct fake_event *)end)->host, seconds, err);
	*seconds = between * script.level *
		   (1 + script.noise * (double)generator_uniform(1, readings++));
	return STATUS_OK;
}

enum status fake_gate_close(struct stream *stream, double timeout_seconds, struct error *err)
{
	CALL("gate_close");
	return HOST->gate_close(host(stream), timeout_seconds, err);
}

enum status fake_gate_open(struct stream *stream, struct error *err)
{
	/*
	 * The host's gate first: a test of a failing call shall not wait for the gate's time-out.
	 */
	enum status status = HOST->gate_open(host(stream), err);

	CALL("gate_open");
	return status;
}

enum status fake_copy(struct stream *stream, void *to, const void *from, size_t bytes,
		      struct error *err)
{
	CALL("copy");
	pass(stream, (double)bytes / FAKE_BANDWIDTH);
	return HOST->copy(host(stream), to, from, bytes, err);
}

enum status fake_copy_peer(struct stream *stream, void *to, struct device *to_device,
			   const void *from, struct device *from_device, size_t bytes,
			   struct error *err)
{
	CALL("copy_peer");
	pass(stream, (double)bytes / FAKE_BANDWIDTH);
	return HOST->copy_peer(host(stream), to, to_device, from, from_device, bytes, err);
}

enum status fake_copy_rows(struct stream *stream, void *to, size_t to_stride, const void *from,
			   size_t from_stride, size_t row_bytes, size_t rows, struct error *err)
{
	CALL("copy_rows");
	pass(stream, (double)(row_bytes * rows) / FAKE_BANDWIDTH);
	return HOST->copy_rows(host(stream), to, to_stride, from, from_stride, row_bytes, rows,
			       err);
}

enum status fake_memory_set(struct stream *stream, void *memory, int byte, size_t bytes,
			    struct error *err)
{
	CALL("memory_set");
	pass(stream, (double)bytes / FAKE_BANDWIDTH);
	return HOST->memory_set(host(stream), memory, byte, bytes, err);
}

static void take_path(const struct device_info *info, enum precision precision)
{
	const char *path = architecture_gemm_path(architecture_capability_number(info), precision);

	for (size_t i = 0; i < taken_count; i++)
		if (taken[i].path == path)
			return;
	if (info->capability_major && taken_count < ARRAY_SIZE(taken))
		taken[taken_count++] = (struct code_path){ "gemm", path };
}

size_t fake_paths(struct code_path *out, size_t capacity)
{
	size_t count = taken_count < capacity ? taken_count : capacity;

	memcpy(out, taken, count * sizeof(*out));
	taken_count = 0;
	return count;
}

enum status fake_gemm(struct stream *stream, const struct gemm *gemm, struct error *err)
{
	CALL("gemm");
	pass(stream, 2.0 * (double)gemm->m * (double)gemm->n * (double)gemm->k / FAKE_THROUGHPUT);
	if (HOST->gemm(host(stream), gemm, err) != STATUS_OK)
		return err->status;
	if (stream->device->info.index == script.wrong &&
	    HOST->memory_set(host(stream), gemm->c, 0x55, 8, err) != STATUS_OK)
		return err->status;
	take_path(&stream->device->info, gemm->precision);
	return STATUS_OK;
}

size_t fake_gemm_workspace(struct device *device)
{
	return HOST->gemm_workspace(device);
}

/*
 * One launcher per kernel: a kernel_fn has no room for a name. The empty kernel draws no power,
 * however long a busy host keeps its launch waiting.
 */
#define KERNEL_HOST(op) KERNEL(op)
#define KERNEL_CUDA(op)
#define KERNEL(name)                                                                        \
	static enum status fake_kernel_##name(struct stream *stream, const void *arguments, \
					      struct error *err)                            \
	{                                                                                   \
		CALL(#name);                                                                \
		if (strcmp(#name, "empty") == 0)                                            \
			time_passes(stream, 0);                                             \
		else                                                                        \
			pass(stream, 0);                                                    \
		return HOST->kernel(#name)(host(stream), arguments, err);                   \
	}
#include "kernels/kernels.def"
#undef KERNEL

static const struct {
	const char *name;
	kernel_fn *run;
} kernels[] = {
#define KERNEL(name) { #name, fake_kernel_##name },
#include "kernels/kernels.def"
#undef KERNEL
};

kernel_fn *fake_kernel(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(kernels); i++)
		if (strcmp(kernels[i].name, name) == 0 && HOST->kernel(name))
			return kernels[i].run;
	return NULL;
}

/*
 * The last device's remapped rows; `rows=FILE` counts one more at each reading. `reset=2`: the
 * driver asks for a reset of device 2.
 */
size_t fake_findings(struct finding *out, size_t capacity)
{
	int rows = script_rows();
	char device[32];

	if (script.reset >= 0 && capacity) {
		out->severity = SEVERITY_ERROR;
		snprintf(device, sizeof(device), "fake:%d", script.reset);
		finding_set_device(out, FINDING_RECOVERY, device);
		snprintf(out->text, sizeof(out->text), "the driver requests a reset of the GPU");
		return 1;
	}
	if (rows < 0 || capacity == 0)
		return 0;
	out->severity = rows ? SEVERITY_WARNING : SEVERITY_OK;
	snprintf(device, sizeof(device), "fake:%d", script.devices - 1);
	finding_set_device(out, FINDING_REMAPPED, device);
	snprintf(out->text, sizeof(out->text), "%d", rows);
	return 1;
}

const struct backend gpuproof_backend = {
	.abi = BACKEND_ABI,
	.name = "fake",
	.module = "fake",
	.open = fake_open,
	.close = fake_close,
	.device_count = fake_device_count,
	.device_info = fake_device_info,
	.facts = fake_facts,
	.findings = fake_findings,
	.device_open = fake_device_open,
	.device_close = fake_device_close,
	.device_synchronize = fake_device_synchronize,
	.device_memory = fake_device_memory,
	.peer_access = fake_peer_access,
	.telemetry = fake_telemetry,
	.energy = fake_energy,
	.memory_alloc = fake_memory_alloc,
	.memory_trim = fake_memory_trim,
	.memory_free = fake_memory_free,
	.memory_granularity = host_memory_granularity,
	.range_reserve = fake_range_reserve,
	.range_map = fake_range_map,
	.range_release = fake_range_release,
	.stream_create = fake_stream_create,
	.stream_destroy = fake_stream_destroy,
	.stream_synchronize = fake_stream_synchronize,
	.stream_wait = fake_stream_wait,
	.event_create = fake_event_create,
	.event_destroy = fake_event_destroy,
	.event_record = fake_event_record,
	.event_synchronize = fake_event_synchronize,
	.event_reached = fake_event_reached,
	.event_elapsed = fake_event_elapsed,
	.gate_close = fake_gate_close,
	.gate_open = fake_gate_open,
	.copy = fake_copy,
	.copy_peer = fake_copy_peer,
	.copy_rows = fake_copy_rows,
	.memory_set = fake_memory_set,
	.gemm = fake_gemm,
	.gemm_workspace = fake_gemm_workspace,
	.paths = fake_paths,
	.kernel = fake_kernel,
	.communicator_id = fake_communicator_id,
	.communicator_open = fake_communicator_open,
	.transport_usable = fake_transport_usable,
	.communicator_close = fake_communicator_close,
	.all_reduce = fake_all_reduce,
	.broadcast = fake_broadcast,
	.send = fake_send,
	.receive = fake_receive,
	.group_begin = fake_group_begin,
	.group_end = fake_group_end,
	.all_gather = fake_all_gather,
	.reduce_scatter = fake_reduce_scatter,
	.reduce = fake_reduce,
	.all_to_all = fake_all_to_all,
	.callback = fake_callback,
	.graph_begin = fake_graph_begin,
	.graph_end = fake_graph_end,
	.graph_launch = fake_graph_launch,
	.graph_destroy = fake_graph_destroy,
	.telemetry_quick = fake_telemetry_quick,
};
