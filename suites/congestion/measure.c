#include "suites/congestion/measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/stats.h"
#include "base/text.h"
#include "device/ranks/relay.h"
#include "suites/shared/ranks/collective_data.h"
#include "suites/shared/ranks/communicators.h"

/* Samples of one operation needed for a p99 with an interval. */
#define TAIL_SAMPLES 400
/* An operation plus the events with which NCCL orders its streams. */
#define OPERATION_COMMANDS 4
/* Maximum queued commands of the load. */
#define LOAD_COMMANDS 400
/* Initial duration of a piece of load, in multiples of the victims' operation alone. */
#define LOAD_AHEAD 4
/* If the load is idle for more than this share of its time, its pieces become longer. */
#define GAP_MOST 0.1
/* Nodes in the note about slowed victims. */
#define HURT_MOST 4
/* 97.5 % quantile of the normal distribution. */
#define NORMAL_QUANTILE 1.96

/* State that a rank keeps between cases: opening communicators takes as long as many cases. */
struct congestion_state {
	uint64_t world;
	int turn;
	struct stream *stream;
	struct communicator *communicator; /* of the victims, or of the other ranks */
};

/* A piece of the load, from event to event. */
struct congestion_piece {
	struct event *begin, *end;
};

struct congestion_side {
	struct run *run;
	struct device *device;
	bool victim;
	int part_size, part_rank;
	struct collective c; /* the victims' operation, or the load */
	enum load load;
	unsigned commands; /* commands of one operation */
	/*
	 * Maximum over the ranks of the load: in an incast the receiver has more commands than a
	 * sender, and all make their pieces longer together.
	 */
	unsigned load_commands;
	/* the sampled stream; the load has a separate one while victims are sampled */
	struct stream *stream, *load_stream;
	struct congestion_piece pieces[2];
	unsigned piece_operations;
	uint64_t piece_count;
	double busy_seconds, gap_seconds;
	struct event *began, *ended; /* around the rank's own operations */
	double *own;
	size_t own_count, own_capacity;
};

int congestion_measure_victims(int nodes, double share)
{
	int most = nodes - CONGESTION_NODES_LEAST, count = (int)lround(nodes * share);

	count = count < CONGESTION_NODES_LEAST ? CONGESTION_NODES_LEAST : count;
	return count > most ? most : count;
}

bool congestion_measure_is_victim(int node, int nodes, int victims, int turn)
{
	int64_t at = (node + turn) % nodes;

	return (at + 1) * victims / nodes > at * victims / nodes;
}

void *congestion_measure_open_state(void)
{
	return xcalloc(1, sizeof(struct congestion_state));
}

static void congestion_measure_forget_state(struct congestion_state *state)
{
	backend_communicator_close(state->communicator);
	backend_stream_destroy(state->stream);
	*state = (struct congestion_state){ .world = 0 };
}

void congestion_measure_close_state(void *state)
{
	congestion_measure_forget_state(state);
	free(state);
}

/* Part 0 has the ranks of victims, part 1 the others; nodes are numbered from 0. */
static int *congestion_measure_part_of_ranks(const struct run *run)
{
	int size = run->world->size, nodes = 0, victims;
	struct device_address *all = communicators_join_addresses(run->devices[0], run->world);
	int *part_of = xcalloc((size_t)size, sizeof(*part_of));

	for (int rank = 0; rank < size; rank++)
		nodes = all[rank].node >= nodes ? all[rank].node + 1 : nodes;
	victims = congestion_measure_victims(nodes, section_real(run->c->section, "victims"));
	for (int rank = 0; rank < size; rank++)
		part_of[rank] =
			!congestion_measure_is_victim(all[rank].node, nodes, victims,
						      (int)case_integer_or(run->c, "turn", 0));
	free(all);
	return part_of;
}

static enum status congestion_measure_connect(struct congestion_state *state, const struct run *run,
					      const int *part_of, struct error *err)
{
	const struct communicator_options options = { .transport = TRANSPORT_AUTO };
	int turn = (int)case_integer_or(run->c, "turn", 0);
	enum status status;

	if (state->communicator && state->world == run->world->id && state->turn == turn)
		return STATUS_OK;
	congestion_measure_forget_state(state);
	state->world = run->world->id;
	state->turn = turn;
	status = world_agree(run->world,
			     backend_stream_create(run->devices[0], false, &state->stream, err),
			     err);
	return status == STATUS_OK ? communicators_join_parts(run->devices[0], run->world, &options,
							      part_of, &state->communicator, err)
				   : status;
}

/* The receiver of an incast ends with the data of an all-gather. */
static const enum operation_kind kinds[] = { ALL_TO_ALL, ALL_GATHER, ALL_REDUCE, BROADCAST };

static void congestion_measure_describe_side(struct congestion_side *s, struct run *run,
					     const struct congestion_state *state,
					     const int *part_of)
{
	int rank = run->world->rank;
	size_t bytes;

	*s = (struct congestion_side){ .run = run,
				       .device = run->devices[0],
				       .victim = part_of[rank] == 0,
				       .load = (enum load)case_integer(run->c, "congestors"),
				       .stream = state->stream,
				       .piece_operations = 1 };
	for (int i = 0; i < run->world->size; i++) {
		s->part_rank += part_of[i] == part_of[rank] && i < rank;
		s->part_size += part_of[i] == part_of[rank];
	}
	s->c = (struct collective){
		.kind = s->victim ? (enum operation_kind)case_integer(run->c, "operations")
				  : kinds[s->load],
		.precision = PRECISION_FP32,
		.rank = s->part_rank,
		.ranks = s->part_size,
		.device = s->device,
		.stream = s->stream,
		.communicator = state->communicator,
		.seed = run->seed
	};
	s->c.operation = &operations[s->c.kind];
	s->c.in_place = s->c.operation->placements == IN_PLACE_ONLY;
	bytes = (size_t)(s->victim ? case_integer(run->c, "sizes")
				   : section_integer(run->c->section, "load_size"));
	s->c.bytes = collective_data_bytes(s->c.operation, bytes, s->part_size, &s->c.part);
}

/* All ranks send their part to the first one, which has room for all. */
static enum status congestion_measure_enqueue_incast(const struct collective *c, struct error *err)
{
	struct error ignored = ERROR_NONE;
	enum status status = STATUS_OK;

	if (c->rank == 0 && backend_copy(c->stream, c->to, c->from, c->part, err) != STATUS_OK)
		return err->status;
	if (backend_group_begin(c->communicator, err) != STATUS_OK)
		return err->status;
	if (c->rank > 0)
		status = backend_send(c->communicator, c->stream, c->from, c->part, 0, err);
	for (int i = 1; i < c->ranks && c->rank == 0 && status == STATUS_OK; i++)
		status = backend_receive(c->communicator, c->stream, c->to + (size_t)i * c->part,
					 c->part, i, err);
	if (backend_group_end(c->communicator, status == STATUS_OK ? err : &ignored) != STATUS_OK &&
	    status == STATUS_OK)
		status = err->status;
	return status;
}

static bool congestion_measure_is_incast(const struct congestion_side *s)
{
	return !s->victim && s->load == LOAD_INCAST;
}

static enum status congestion_measure_enqueue(const struct congestion_side *s, struct error *err)
{
	return congestion_measure_is_incast(s) ? congestion_measure_enqueue_incast(&s->c, err)
					       : collective_data_enqueue(&s->c, err);
}

static enum status congestion_measure_check(struct congestion_side *s, struct error *err)
{
	if (congestion_measure_is_incast(s) && s->part_rank > 0)
		return backend_stream_synchronize(s->c.stream, err);
	return collective_data_check(&s->c, err);
}

static enum status congestion_measure_open_events(struct congestion_side *s, struct error *err)
{
	struct event **all[] = { &s->began,         &s->ended,           &s->pieces[0].begin,
				 &s->pieces[0].end, &s->pieces[1].begin, &s->pieces[1].end };

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (backend_event_create(s->device, all[i], err) != STATUS_OK)
			return err->status;
	return s->victim ? STATUS_OK
			 : backend_stream_create(s->device, false, &s->load_stream, err);
}

/* Verifies one operation of each part on fresh data. */
static enum status congestion_measure_verify(struct congestion_side *s, struct error *err)
{
	struct world *world = s->run->world;
	uint64_t before = relay_pieces(s->c.communicator);
	enum status status = world_agree(world, collective_data_open(&s->c, err), err);

	if (status == STATUS_OK)
		status = world_agree(world, congestion_measure_open_events(s, err), err);
	if (status == STATUS_OK)
		status = world_agree(world, collective_data_prepare(&s->c, err), err);
	if (status == STATUS_OK)
		status = world_agree(world, congestion_measure_enqueue(s, err), err);
	if (status == STATUS_OK)
		status = world_agree(world, congestion_measure_check(s, err), err);
	s->commands = OPERATION_COMMANDS +
		      (unsigned)(relay_pieces(s->c.communicator) - before) * RELAY_COMMANDS;
	if (status != STATUS_OK)
		return error_prefix(err, "before timing");
	s->load_commands = (unsigned)world_max(world, s->victim ? 0 : (double)s->commands);
	return status;
}

static enum status congestion_measure_load(void *state, unsigned batch, struct error *err)
{
	const struct congestion_side *s = state;

	for (unsigned i = 0; i < batch && !s->victim; i++)
		if (congestion_measure_enqueue(s, err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

/*
 * The rank's own time is measured between two events, because a sample is that of the slowest rank.
 */
static enum status congestion_measure_launch_victims(void *state, unsigned batch, struct error *err)
{
	const struct congestion_side *s = state;

	if (!s->victim)
		return STATUS_OK;
	if (backend_event_record(s->began, s->stream, err) != STATUS_OK)
		return err->status;
	for (unsigned i = 0; i < batch; i++)
		if (congestion_measure_enqueue(s, err) != STATUS_OK)
			return err->status;
	return backend_event_record(s->ended, s->stream, err);
}

static enum status congestion_measure_note_own(void *state, struct error *err)
{
	struct congestion_side *s = state;
	double seconds;

	if (!s->victim)
		return STATUS_OK;
	if (backend_event_synchronize(s->ended, err) != STATUS_OK ||
	    backend_event_elapsed(s->began, s->ended, &seconds, err) != STATUS_OK)
		return err->status;
	ARRAY_GROW(s->own, s->own_count, s->own_capacity);
	s->own[s->own_count++] = seconds;
	return STATUS_OK;
}

/*
 * Waits for the second-latest piece, and accumulates the gap between them, in which the load was
 * idle.
 */
static enum status congestion_measure_follow_load(struct congestion_side *s, double *gap,
						  double *length, struct error *err)
{
	const struct congestion_piece *before = &s->pieces[s->piece_count % 2],
				      *latest = &s->pieces[(s->piece_count + 1) % 2];

	if (backend_event_synchronize(before->end, err) != STATUS_OK ||
	    backend_event_synchronize(latest->begin, err) != STATUS_OK ||
	    backend_event_elapsed(before->begin, before->end, length, err) != STATUS_OK ||
	    backend_event_elapsed(before->end, latest->begin, gap, err) != STATUS_OK)
		return err->status;
	s->busy_seconds += *length;
	s->gap_seconds += *gap;
	return STATUS_OK;
}

static enum status congestion_measure_add_piece(struct congestion_side *s, struct error *err)
{
	struct congestion_piece *piece = &s->pieces[s->piece_count++ % 2];
	struct congestion_side on_load = *s;

	on_load.c.stream = s->load_stream;
	if (backend_event_record(piece->begin, s->load_stream, err) != STATUS_OK ||
	    congestion_measure_load(&on_load, s->piece_operations, err) != STATUS_OK)
		return err->status;
	return backend_event_record(piece->end, s->load_stream, err);
}

/*
 * Before each sample of the victims: adds a piece of load while the latest one runs. If the gaps
 * were too long, pieces become longer, equally on all ranks.
 */
static enum status congestion_measure_keep_loaded(void *state, struct error *err)
{
	struct congestion_side *s = state;
	double gap = 0, length = 0;
	enum status status = STATUS_OK;

	if (!s->victim && s->piece_count >= 2)
		status = congestion_measure_follow_load(s, &gap, &length, err);
	if (world_max(s->run->world, gap > GAP_MOST * length) > 0 &&
	    2 * s->piece_operations * s->load_commands <= LOAD_COMMANDS)
		s->piece_operations *= 2;
	return status == STATUS_OK && !s->victim ? congestion_measure_add_piece(s, err) : status;
}

struct time_spread {
	double value, low, high;
};

/*
 * Mean with its 95 % interval by the normal approximation, for the effective number of samples of a
 * series with this autocorrelation.
 */
static struct time_spread congestion_measure_mean_of(const struct series *series)
{
	double sum = 0, squares = 0, n = (double)series->count,
	       rho = fmin(fmax(series->statistics.autocorrelation, 0), 0.99), mean, half;

	for (size_t i = 0; i < series->count; i++)
		sum += series->samples[i];
	mean = sum / n;
	for (size_t i = 0; i < series->count; i++)
		squares += (series->samples[i] - mean) * (series->samples[i] - mean);
	half = n < 2 ? NAN : NORMAL_QUANTILE * sqrt(squares / (n - 1) / n * (1 + rho) / (1 - rho));
	return (struct time_spread){ mean, mean - half, mean + half };
}

/*
 * 99th percentile with its 95 % interval from order statistics: among n samples the number below it
 * is binomial. A bound is NaN if the samples do not determine it.
 */
static struct time_spread congestion_measure_tail_of(const struct series *series)
{
	size_t n = series->count;
	double half = NORMAL_QUANTILE * sqrt((double)n * 0.99 * 0.01), middle = 0.99 * (double)n;
	size_t low = middle - half > 1 ? (size_t)(middle - half) - 1 : 0,
	       high = (size_t)ceil(middle + half);
	double *sorted = xmalloc((n + 1) * sizeof(*sorted));
	struct time_spread tail;

	memcpy(sorted, series->samples, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), compare_doubles);
	tail = (struct time_spread){ series->statistics.p99, n ? sorted[low] : NAN,
				     high <= n && n ? sorted[high - 1] : NAN };
	free(sorted);
	return tail;
}

/* Ratio of two values with independent errors. */
static struct time_spread congestion_measure_ratio(struct time_spread a, struct time_spread b)
{
	double value = a.value / b.value;
	double down = root_sum_square((a.value - a.low) / a.value, (b.high - b.value) / b.value);
	double up = root_sum_square((a.high - a.value) / a.value, (b.value - b.low) / b.value);

	return (struct time_spread){ value, value * fmax(0, 1 - down), value * (1 + up) };
}

static void congestion_measure_record(struct run *run, const char *name, struct time_spread ratio,
				      size_t samples)
{
	if (isfinite(ratio.value))
		run_interval(run, name, ratio.value, ratio.low, ratio.high, samples);
}

struct hurt {
	char node[64];
	double ratio;
};

static int congestion_measure_most_hurt(const void *a, const void *b)
{
	const struct hurt *p = a, *q = b;

	return (q->ratio > p->ratio) - (q->ratio < p->ratio);
}

/* Slowdown per node, by the slowest of its ranks; ranks of a node are consecutive. */
static size_t congestion_measure_nodes_hurt(const struct congestion_side *s, double ratio,
					    struct hurt *nodes)
{
	struct world *world = s->run->world;
	struct hurt mine = { .ratio = s->victim ? ratio : NAN }, *all;
	size_t count = 0;

	snprintf(mine.node, sizeof(mine.node), "%.*s", (int)device_node_length(s->device->info.id),
		 s->device->info.id);
	all = xcalloc((size_t)world->size, sizeof(*all));
	world_gather(world, &mine, all, sizeof(mine));
	for (int rank = 0; rank < world->size; rank++) {
		if (!isfinite(all[rank].ratio))
			continue;
		if (!count || strcmp(nodes[count - 1].node, all[rank].node) != 0)
			nodes[count++] = all[rank];
		else
			nodes[count - 1].ratio = fmax(nodes[count - 1].ratio, all[rank].ratio);
	}
	free(all);
	qsort(nodes, count, sizeof(*nodes), congestion_measure_most_hurt);
	return count;
}

static enum status congestion_measure_sample_load(struct congestion_side *s, struct workload *w,
						  double *seconds, struct error *err)
{
	const struct series *time;
	double bytes =
		world_max(s->run->world,
			  s->victim ? 0
				    : collective_data_bus_factor(s->c.operation, s->c.ranks) *
					      (double)s->c.bytes);

	w->launch = congestion_measure_load;
	if (run_sample(s->run, w, "congestion.load_time", &time, err) != STATUS_OK)
		return err->status;
	run_rate(s->run, "congestion.load", bytes, time);
	*seconds = time->statistics.median;
	return STATUS_OK;
}

static enum status congestion_measure_sample_victims(struct congestion_side *s, struct workload *w,
						     const char *series, const struct series **time,
						     double *own, struct error *err)
{
	double sum = 0;
	size_t counted;

	s->own_count = 0;
	w->launch = congestion_measure_launch_victims;
	w->finish = congestion_measure_note_own;
	w->max_batch = 1;
	w->min_samples = TAIL_SAMPLES;
	if (run_sample(s->run, w, series, time, err) != STATUS_OK)
		return err->status;
	/* The rank's own mean over the counted samples, which follow the warm-up. */
	counted = (*time)->count;
	for (size_t i = 0; i < counted && counted <= s->own_count; i++)
		sum += s->own[s->own_count - counted + i];
	*own = counted && counted <= s->own_count ? sum / (double)counted : (double)NAN;
	return STATUS_OK;
}

static enum status congestion_measure(struct congestion_side *s, struct error *err)
{
	struct workload w = { .state = s,
			      .clock = CLOCK_DEVICE,
			      .streams = &s->stream,
			      .stream_count = 1,
			      .commands = s->commands };
	const struct series *time;
	double load_seconds = 0, alone_own = NAN, own = NAN, operations_ahead;
	struct time_spread mean, tail;
	enum status status;
	double total, idle;
	struct hurt *nodes;
	size_t count;
	struct text text = TEXT_EMPTY;

	if (congestion_measure_sample_load(s, &w, &load_seconds, err) != STATUS_OK ||
	    congestion_measure_sample_victims(s, &w, "congestion.alone", &time, &alone_own, err) !=
		    STATUS_OK)
		return err->status;
	mean = congestion_measure_mean_of(time);
	tail = congestion_measure_tail_of(time);
	run_duration(s->run, "congestion.alone", time);
	run_statistic(s->run, "congestion.alone_p99", time->statistics.p99, time);
	operations_ahead = load_seconds > 0 ? LOAD_AHEAD * mean.value / load_seconds : 1;
	while (s->piece_operations < operations_ahead &&
	       2 * s->piece_operations * s->commands <= LOAD_COMMANDS)
		s->piece_operations *= 2;
	/* Equal on all ranks of the load; victims have other commands and no pieces. */
	s->piece_operations =
		(unsigned)world_max(s->run->world, s->victim ? 1 : s->piece_operations);
	w.prepare = congestion_measure_keep_loaded;
	status = congestion_measure_sample_victims(s, &w, "congestion.time", &time, &own, err);
	status = world_agree(s->run->world,
			     status == STATUS_OK && !s->victim
				     ? backend_stream_synchronize(s->load_stream, err)
				     : status,
			     err);
	if (status != STATUS_OK)
		return status;
	run_duration(s->run, "congestion.time", time);
	run_statistic(s->run, "congestion.time_p99", time->statistics.p99, time);
	congestion_measure_record(s->run, "congestion.slowdown",
				  congestion_measure_ratio(congestion_measure_mean_of(time), mean),
				  time->count);
	congestion_measure_record(s->run, "congestion.slowdown_p99",
				  congestion_measure_ratio(congestion_measure_tail_of(time), tail),
				  time->count);
	/* Share of time in which the load was active, on the rank with the smallest. */
	total = s->busy_seconds + s->gap_seconds;
	idle = world_max(s->run->world, total > 0 ? s->gap_seconds / total : 0);
	run_value(s->run, "congestion.load_busy", 1 - idle);
	nodes = xcalloc((size_t)s->run->world->size + 1, sizeof(*nodes));
	count = congestion_measure_nodes_hurt(s, own / alone_own, nodes);
	for (size_t i = 0; i < count && i < HURT_MOST; i++)
		text_addf(&text, "%s%s %.2f", i ? ", " : "", nodes[i].node, nodes[i].ratio);
	if (count) {
		run_value(s->run, "congestion.worst_node", nodes[0].ratio);
		run_note(s->run, "Victims, with the slowdown of their own operations: %s%s.",
			 text.data,
			 count > HURT_MOST ? "; the other victims slowed down less" : "");
	}
	text_release(&text);
	free(nodes);
	return STATUS_OK;
}

enum status congestion_measure_run(struct run *run, struct error *err)
{
	struct congestion_state *state = run->suite_state;
	int *part_of = congestion_measure_part_of_ranks(run);
	enum status status = congestion_measure_connect(state, run, part_of, err);
	struct congestion_side s;

	congestion_measure_describe_side(&s, run, state, part_of);
	free(part_of);
	if (status != STATUS_OK)
		return status;
	status = congestion_measure_verify(&s, err);
	if (status == STATUS_OK)
		status = congestion_measure(&s, err);
	if (status == STATUS_OK) {
		status = world_agree(run->world, congestion_measure_check(&s, err), err);
		if (status != STATUS_OK)
			error_prefix(err, "after timing");
	}
	if (status == STATUS_OK) {
		run_verified(run,
			     "every element on every rank, of victims and load, against the "
			     "generated data, before and after timing",
			     NAN, NAN);
		run_note(run, "Transport between the devices: %s.",
			 transport_names[s.c.communicator->transport]);
	}
	/* If the device or a rank is lost, waiting would not end; the process exits soon. */
	if (status_loses_device(status))
		return status;
	collective_data_close(&s.c);
	relay_settled(s.c.communicator);
	backend_stream_destroy(s.load_stream);
	for (size_t i = 0; i < ARRAY_SIZE(s.pieces); i++) {
		backend_event_destroy(s.pieces[i].begin);
		backend_event_destroy(s.pieces[i].end);
	}
	backend_event_destroy(s.began);
	backend_event_destroy(s.ended);
	free(s.own);
	return status;
}
