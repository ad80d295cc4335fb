#include "suites/trainmem/offload.h"

/* Any of the team's streams but the one that computes. */
#define STREAM_COPY STREAM_PREVIOUS

static bool leaves(const struct training *t, size_t l)
{
	return l > 0 && l + 1 < t->setup.layers &&
	       (t->options.swapped == 0 || l <= t->options.swapped);
}

static uint64_t bytes_of(const struct training *t, size_t l)
{
	return t->rows * t->setup.widths[l] * precision_bytes(t->setup.precision);
}

enum status offload_open(struct training *t, struct error *err)
{
	struct device *device = t->team.device;

	for (size_t l = 1; l < t->setup.layers; l++) {
		if (!leaves(t, l))
			continue;
		t->host_bytes += bytes_of(t, l);
		if (device && (backend_memory_alloc(device, ALLOCATOR_PINNED, bytes_of(t, l), NULL,
						    &t->host[l], err) != STATUS_OK ||
			       backend_event_create(device, &t->ready[l], err) != STATUS_OK ||
			       backend_event_create(device, &t->moved[l], err) != STATUS_OK))
			return err->status;
	}
	return STATUS_OK;
}

void offload_close(struct training *t)
{
	struct error ignored = ERROR_NONE;

	for (size_t l = 1; l < t->setup.layers && t->team.device; l++) {
		if (t->host[l])
			backend_memory_free(t->team.device, ALLOCATOR_PINNED, t->host[l],
					    bytes_of(t, l), NULL, &ignored);
		backend_event_destroy(t->ready[l]);
		backend_event_destroy(t->moved[l]);
		t->host[l] = NULL;
		t->ready[l] = t->moved[l] = NULL;
	}
}

/* The copy begins when the computing stream has come here, and `moved` says when it is made. */
static enum status copy(struct training *t, size_t l, void *to, const void *from, struct error *err)
{
	struct stream *stream = t->team.streams[STREAM_COPY];

	t->moved_bytes += bytes_of(t, l);
	if (!t->team.device)
		return STATUS_OK;
	if (backend_event_record(t->ready[l], t->team.streams[STREAM_COMPUTE], err) != STATUS_OK ||
	    backend_stream_wait(stream, t->ready[l], err) != STATUS_OK ||
	    backend_copy(stream, to, from, bytes_of(t, l), err) != STATUS_OK)
		return err->status;
	return backend_event_record(t->moved[l], stream, err);
}

static enum status wait_for(struct training *t, size_t l, struct error *err)
{
	return t->team.device
		       ? backend_stream_wait(t->team.streams[STREAM_COMPUTE], t->moved[l], err)
		       : STATUS_OK;
}

enum status offload_start(struct training *t, size_t l, struct error *err)
{
	return leaves(t, l) ? copy(t, l, t->host[l], t->network.activations[l], err) : STATUS_OK;
}

enum status offload_leave(struct training *t, size_t l, struct error *err)
{
	if (!leaves(t, l))
		return STATUS_OK;
	if (wait_for(t, l, err) != STATUS_OK)
		return err->status;
	training_give(t, l);
	return STATUS_OK;
}

static enum status bring_back(struct training *t, size_t l, struct error *err)
{
	if (!leaves(t, l) || t->network.activations[l])
		return STATUS_OK;
	if (training_take(t, l, err) != STATUS_OK)
		return err->status;
	return copy(t, l, t->network.activations[l], t->host[l], err);
}

enum status offload_fetch(struct training *t, size_t l, struct error *err)
{
	if (bring_back(t, l, err) != STATUS_OK ||
	    (leaves(t, l) && wait_for(t, l, err) != STATUS_OK))
		return err->status;
	return l > 0 ? bring_back(t, l - 1, err) : STATUS_OK;
}
