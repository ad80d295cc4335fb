#include "suites/training/trainmem/memory_account.h"

#include <math.h>
#include <string.h>

static size_t memory_account_workspace_of(struct device *device)
{
	return device->backend->gemm_workspace ? device->backend->gemm_workspace(device) : 0;
}

const char *memory_account_source_name(enum memory_source source, const struct device_info *device)
{
	static const char *const names[MEMORY_SOURCE_COUNT] = {
		[MEMORY_SOURCE_PROCESS] = "process memory reported by NVML",
		[MEMORY_SOURCE_DEVICE] = "increase of the device memory in use, reported by NVML",
		[MEMORY_SOURCE_RUNTIME] = "decrease of the free device memory",
	};

	if (device_is_host(device) && source == MEMORY_SOURCE_PROCESS)
		return "resident memory of the process";
	return names[source];
}

/* The first source that works here. */
static enum memory_source memory_account_choose_source(const struct memory_view *view)
{
	if (view->process_used)
		return MEMORY_SOURCE_PROCESS;
	return view->device_used ? MEMORY_SOURCE_DEVICE : MEMORY_SOURCE_RUNTIME;
}

static uint64_t memory_account_bytes_since(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

/*
 * Bytes of this process. `before` was read before it started; other users of the device are
 * included, except with MEMORY_SOURCE_PROCESS.
 */
static uint64_t memory_account_read_source(enum memory_source source, const struct memory_view *now,
					   const struct memory_view *before)
{
	switch (source) {
	case MEMORY_SOURCE_PROCESS:
		return now->process_used;
	case MEMORY_SOURCE_DEVICE:
		return memory_account_bytes_since(now->device_used, before->device_used);
	default:
		return memory_account_bytes_since(now->runtime_used, before->runtime_used);
	}
}

/* Streams stay open, because libraries keep workspaces for each. */
static enum status memory_account_read_context(struct device *device, enum memory_source *source,
					       const struct memory_view *before, uint64_t *bytes,
					       uint64_t *free_bytes, struct error *err)
{
	struct memory_view view;
	uint64_t total;

	if (backend_memory_view(device, &view, err) != STATUS_OK ||
	    backend_device_memory(device, free_bytes, &total, err) != STATUS_OK)
		return err->status;
	*source = memory_account_choose_source(&view);
	*bytes = memory_account_read_source(*source, &view, before);
	return STATUS_OK;
}

enum status memory_account_context(struct device *device, const struct setup *setup,
				   enum memory_source *source, const struct memory_view *before,
				   uint64_t *bytes, uint64_t *free_bytes, struct error *err)
{
	struct training_options options = { .policy = POLICY_MALLOC };
	struct training t;

	if (trainmem_training_open(&t, setup, &options, device, err) == STATUS_OK &&
	    trainmem_training_reset(&t, err) == STATUS_OK &&
	    trainmem_training_step(&t, err) == STATUS_OK &&
	    trainmem_training_wait(&t, err) == STATUS_OK) {
		trainmem_training_let_go(&t);
		memory_account_read_context(device, source, before, bytes, free_bytes, err);
	}
	trainmem_training_close(&t);
	return err->status;
}

struct accounting {
	const struct memory_account_request *request;
	struct memory_account *account;
};

/* The pool reserves more than it hands out; for all other policies the heap's number is exact. */
static uint64_t memory_account_reserved_by(const struct training *t, const struct memory_view *view)
{
	return t->options.policy == POLICY_ASYNC
		       ? view->pool_reserved + t->heap.reserved - view->pool_used
		       : t->heap.reserved;
}

static enum status memory_account_read(void *context, struct training *t, enum phase phase,
				       struct error *err)
{
	const struct accounting *acc = context;
	struct memory_account *a = acc->account;

	if (trainmem_training_wait(t, err) != STATUS_OK ||
	    backend_memory_view(t->team.device, &a->views[phase], err) != STATUS_OK)
		return err->status;
	a->measured[phase] =
		memory_account_read_source(a->source, &a->views[phase], &acc->request->before);
	a->reserved[phase] = memory_account_reserved_by(t, &a->views[phase]);
	a->pieces[phase] = t->heap.pieces;
	a->live[phase] = t->heap.live_total;
	return STATUS_OK;
}

static enum status memory_account_plain_steps(struct training *t, int count, struct error *err)
{
	for (int i = 0; i < count; i++)
		if (trainmem_training_step(t, err) != STATUS_OK)
			return err->status;
	return trainmem_training_wait(t, err);
}

/* The third step: memory needed only by the first two has been released. */
static enum status memory_account_look_at_step(struct accounting *acc, struct training *t,
					       struct error *err)
{
	struct memory_account *a = acc->account;

	heap_forget_peaks(&t->heap);
	if (trainmem_training_watched_step(t, memory_account_read, acc, err) != STATUS_OK)
		return err->status;
	a->peak = t->heap.peak;
	memcpy(a->phase_peak, t->heap.phase_peak, sizeof(a->phase_peak));
	memcpy(a->class_peak, t->heap.class_peak, sizeof(a->class_peak));
	a->takes = t->heap.takes;
	a->device_calls = t->heap.device_calls;
	a->host_bytes = t->host_bytes;
	a->moved_bytes = t->moved_bytes;
	a->gradients_after = t->heap.live[MEMORY_GRADIENTS];
	return STATUS_OK;
}

static enum status memory_account_look_for_leaks(struct accounting *acc, struct training *t,
						 uint64_t live, uint64_t measured,
						 struct error *err)
{
	struct memory_account *a = acc->account;
	struct memory_view view;

	if (memory_account_plain_steps(t, acc->request->steps - 3, err) != STATUS_OK ||
	    backend_memory_view(t->team.device, &view, err) != STATUS_OK)
		return err->status;
	a->leaked = (int64_t)t->heap.live_total - (int64_t)live;
	a->source_grew =
		(int64_t)memory_account_read_source(a->source, &view, &acc->request->before) -
		(int64_t)measured;
	return trainmem_training_loss(t, &a->last_loss, err);
}

static enum status memory_account_look_at_inference(struct accounting *acc, struct training *t,
						    struct error *err)
{
	struct memory_account *a = acc->account;
	struct memory_view view;

	a->reserved_peak = t->heap.reserved_peak;
	heap_forget_peaks(&t->heap);
	if (trainmem_training_inference(t, err) != STATUS_OK ||
	    trainmem_training_wait(t, err) != STATUS_OK)
		return err->status;
	a->inference_peak = t->heap.peak.total;
	heap_trim(&t->heap);
	if (backend_memory_view(t->team.device, &view, err) != STATUS_OK)
		return err->status;
	a->reserved_after_trim = memory_account_reserved_by(t, &view);
	return STATUS_OK;
}

static enum status memory_account_steps(struct accounting *acc, struct training *t,
					struct error *err)
{
	struct memory_account *a = acc->account;
	struct memory_view view;
	uint64_t live;

	if (trainmem_training_reset(t, err) != STATUS_OK ||
	    memory_account_plain_steps(t, 1, err) != STATUS_OK ||
	    trainmem_training_loss(t, &a->first_loss, err) != STATUS_OK ||
	    memory_account_plain_steps(t, 1, err) != STATUS_OK ||
	    backend_memory_view(t->team.device, &view, err) != STATUS_OK)
		return err->status;
	live = t->heap.live_total;
	if (memory_account_look_at_step(acc, t, err) != STATUS_OK ||
	    memory_account_look_for_leaks(acc, t, live,
					  memory_account_read_source(a->source, &view,
								     &acc->request->before),
					  err) != STATUS_OK)
		return err->status;
	return memory_account_look_at_inference(acc, t, err);
}

static enum status memory_account_look_before(struct device *device, struct accounting *acc,
					      struct error *err)
{
	struct memory_account *a = acc->account;
	struct memory_view view;
	struct error unknown = ERROR_NONE;
	size_t unit = 0;

	if (backend_memory_view(device, &view, err) != STATUS_OK)
		return err->status;
	a->opened = memory_account_read_source(memory_account_choose_source(&view), &view,
					       &acc->request->before);
	/* The resident memory of a process also changes for other reasons. */
	if (!(device->info.capabilities & DEVICE_SHARES_HOST_MEMORY) &&
	    backend_memory_granularity(device, ALLOCATOR_VMM, &unit, &unknown) == STATUS_OK)
		a->unit = unit;
	return STATUS_OK;
}

enum status memory_account_step(struct device *device, const void *request, void *account,
				struct error *err)
{
	struct accounting acc = { request, account };
	struct training_options options = acc.request->options;
	struct memory_account *a = account;
	struct training t;
	uint64_t unused;

	if (memory_account_look_before(device, &acc, err) != STATUS_OK ||
	    memory_account_context(device, &acc.request->setup, &a->source, &acc.request->before,
				   &a->context, &unused, err) != STATUS_OK)
		return err->status;
	a->workspace = memory_account_workspace_of(device);
	a->context -= a->context > a->workspace ? a->workspace : a->context;
	options.workspace = a->workspace;
	if (trainmem_training_open(&t, &acc.request->setup, &options, device, err) == STATUS_OK)
		memory_account_steps(&acc, &t, err);
	trainmem_training_close(&t);
	return err->status;
}
