#include "suites/training/trainmem/memory_account.h"

#include <math.h>
#include <string.h>

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

enum status memory_account_context(struct device *device, const struct setup *setup,
				   enum memory_source *source, const struct memory_view *before,
				   uint64_t *bytes, uint64_t *free_bytes, struct error *err)
{
	struct training_options options = { .policy = POLICY_MALLOC };
	struct memory_view view;
	struct training t;
	uint64_t total;

	if (trainmem_training_open(&t, setup, &options, device, err) == STATUS_OK &&
	    trainmem_training_reset(&t, err) == STATUS_OK &&
	    trainmem_training_step(&t, err) == STATUS_OK &&
	    trainmem_training_wait(&t, err) == STATUS_OK) {
		/* Streams stay open, because libraries keep workspaces for each. */
		trainmem_training_let_go(&t);
		if (backend_memory_view(device, &view, err) == STATUS_OK &&
		    backend_device_memory(device, free_bytes, &total, err) == STATUS_OK) {
			/* The first source that works here. */
			*source = view.process_used  ? MEMORY_SOURCE_PROCESS
				  : view.device_used ? MEMORY_SOURCE_DEVICE
						     : MEMORY_SOURCE_RUNTIME;
			*bytes = memory_account_read_source(*source, &view, before);
		}
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

/* Reads the memory in use at the end of a forward pass. */
static enum status memory_account_read(void *context, struct training *t, struct error *err)
{
	const struct accounting *acc = context;
	struct memory_account *a = acc->account;

	if (trainmem_training_wait(t, err) != STATUS_OK ||
	    backend_memory_view(t->team.device, &a->view, err) != STATUS_OK)
		return err->status;
	a->measured = memory_account_read_source(a->source, &a->view, &acc->request->before);
	a->reserved = memory_account_reserved_by(t, &a->view);
	a->live = t->heap.live_total;
	return STATUS_OK;
}

/* Memory of the process after `steps` steps. */
static enum status memory_account_after(struct accounting *acc, struct training *t, int steps,
					int64_t *measured, struct error *err)
{
	struct memory_view view;

	for (int i = 0; i < steps; i++)
		if (trainmem_training_step(t, err) != STATUS_OK)
			return err->status;
	if (trainmem_training_wait(t, err) != STATUS_OK ||
	    backend_memory_view(t->team.device, &view, err) != STATUS_OK)
		return err->status;
	*measured = (int64_t)memory_account_read_source(acc->account->source, &view,
							&acc->request->before);
	return STATUS_OK;
}

/*
 * The third step is looked at: memory needed only by the first two has been released. Growth of
 * memory until the last step is a leak.
 */
static enum status memory_account_look_at_steps(struct accounting *acc, struct training *t,
						struct error *err)
{
	struct memory_account *a = acc->account;
	int64_t live, second = 0, last = 0;

	if (trainmem_training_first_step(t, &a->first_loss, err) != STATUS_OK ||
	    memory_account_after(acc, t, 1, &second, err) != STATUS_OK)
		return err->status;
	live = (int64_t)t->heap.live_total;
	heap_forget_peaks(&t->heap);
	if (trainmem_training_watched_step(t, memory_account_read, acc, err) != STATUS_OK)
		return err->status;
	a->peak = t->heap.peak;
	memcpy(a->phase_peak, t->heap.phase_peak, sizeof(a->phase_peak));
	a->takes = t->heap.takes;
	a->device_calls = t->heap.device_calls;
	a->host_bytes = t->host_bytes;
	a->moved_bytes = t->moved_bytes;
	a->gradients_after = t->heap.live[MEMORY_GRADIENTS];
	if (memory_account_after(acc, t, acc->request->steps - 3, &last, err) != STATUS_OK)
		return err->status;
	a->leaked = (int64_t)t->heap.live_total - live;
	a->source_grew = last - second;
	return trainmem_training_loss(t, &a->last_loss, err);
}

static enum status memory_account_look_at_inference(struct accounting *acc, struct training *t,
						    struct error *err)
{
	struct memory_account *a = acc->account;
	struct memory_view view;

	a->reserved_peak = t->heap.reserved_peak;
	heap_forget_peaks(&t->heap);
	if (trainmem_training_inference(t, err) != STATUS_OK)
		return err->status;
	a->inference_peak = t->heap.peak.total;
	heap_trim(&t->heap);
	if (backend_memory_view(t->team.device, &view, err) != STATUS_OK)
		return err->status;
	a->reserved_after_trim = memory_account_reserved_by(t, &view);
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

	if (memory_account_context(device, &acc.request->setup, &a->source, &acc.request->before,
				   &a->context, &unused, err) != STATUS_OK)
		return err->status;
	a->workspace =
		device->backend->gemm_workspace ? device->backend->gemm_workspace(device) : 0;
	a->context -= a->context > a->workspace ? a->workspace : a->context;
	options.workspace = a->workspace;
	if (trainmem_training_open(&t, &acc.request->setup, &options, device, err) == STATUS_OK &&
	    memory_account_look_at_steps(&acc, &t, err) == STATUS_OK)
		memory_account_look_at_inference(&acc, &t, err);
	trainmem_training_close(&t);
	return err->status;
}
