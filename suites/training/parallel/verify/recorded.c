#include "suites/training/parallel/verify/recorded.h"

#include <string.h>

#include "suites/training/parallel/verify/verify.h"

/* A graph recording is always ended, even if the recorded work has failed. */
enum status recorded_open(struct verify_recorded *r, struct trainer *t, unsigned parts,
			  struct error *err)
{
	struct stream *compute = trainer_stream(t);
	uint64_t updates = t->network.updates;
	struct error ignored = ERROR_NONE;
	enum status status, ended;

	*r = (struct verify_recorded){ .trainer = t, .parts = parts };
	if (backend_graph_begin(compute, err) != STATUS_OK)
		return err->status;
	status = trainer_enqueue(t, parts, err);
	ended = backend_graph_end(compute, &r->graph, status == STATUS_OK ? err : &ignored);
	/* Nothing has been updated yet. */
	t->network.updates = updates;
	if (ended != STATUS_OK)
		r->graph = NULL;
	return status == STATUS_OK ? ended : status;
}

enum status recorded_launch(struct verify_recorded *r, unsigned steps, struct error *err)
{
	struct trainer *t = r->trainer;

	for (unsigned i = 0; i < steps; i++) {
		if (backend_graph_launch(r->graph, trainer_stream(t), err) != STATUS_OK)
			return err->status;
		t->network.updates += (r->parts & STEP_UPDATE) != 0;
	}
	return STATUS_OK;
}

void recorded_close(struct verify_recorded *r)
{
	backend_graph_destroy(r->graph);
	*r = (struct verify_recorded){ 0 };
}

struct trace {
	uint64_t parameters;
	double loss;
};

static enum status trainer_trace(struct trainer *t, struct trace *out, struct error *err)
{
	memset(out, 0, sizeof(*out));
	if (verify_replicas(t, &out->parameters, err) != STATUS_OK)
		return err->status;
	return trainer_loss(t, &out->loss, err);
}

static enum status recorded_steps_by_calls(struct trainer *t, unsigned steps, struct trace *out,
					   struct error *err)
{
	enum status status = trainer_reset(t, err);

	t->network.by_host = true;
	for (unsigned i = 0; i < steps && status == STATUS_OK; i++)
		status = trainer_step(t, STEP_ALL, err);
	t->network.by_host = false;
	return status == STATUS_OK ? trainer_trace(t, out, err) : status;
}

static enum status recorded_steps_by_graph(struct trainer *t, unsigned steps, struct trace *out,
					   struct error *err)
{
	struct verify_recorded r = { 0 };
	struct world *world = t->team->world;
	enum status status = trainer_reset(t, err);

	if (status == STATUS_OK)
		status = world_agree(world, recorded_open(&r, t, STEP_ALL, err), err);
	if (status == STATUS_OK)
		status = world_agree(world, recorded_launch(&r, steps, err), err);
	if (status == STATUS_OK)
		status = world_agree(world, team_synchronize(t->team, err), err);
	recorded_close(&r);
	return status == STATUS_OK ? trainer_trace(t, out, err) : status;
}

enum status recorded_verify(struct trainer *t, unsigned steps, struct error *err)
{
	struct trace calls, graph;
	enum status status = STATUS_OK;

	if (recorded_steps_by_calls(t, steps, &calls, err) != STATUS_OK ||
	    recorded_steps_by_graph(t, steps, &graph, err) != STATUS_OK)
		return err->status;
	if (calls.parameters != graph.parameters || calls.loss != graph.loss)
		status = error_set(err, STATUS_MISMATCH,
				   "%u steps with and without a graph: parameters %s, loss "
				   "%.17g and %.17g",
				   steps,
				   calls.parameters == graph.parameters ? "are equal" : "differ",
				   graph.loss, calls.loss);
	return world_agree(t->team->world, status, err);
}
