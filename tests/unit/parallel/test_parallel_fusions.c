/*
 * Products that add the bias themselves, on a device where that is a matter of measurement: where
 * the library refuses them, at once or in the middle of the trial, layers are computed the other
 * way, and rightly.
 */
#include "parallel_setups.h"

static const struct backend *sound;
static unsigned fused_calls; /* of this rank */

struct fusion_case {
	struct setup setup;
	unsigned granted;    /* fused products until the library refuses */
	enum status refusal; /* what it then says */
	/* of every layer that has a choice; AUTO: of the faster one, whichever that is */
	enum fusion expected;
	bool accelerated; /* memory of its own: the choice is measured */
};
static const struct fusion_case *asked;

static enum status multiply(struct stream *stream, const struct gemm *gemm, struct error *err)
{
	if (gemm->epilogue != EPILOGUE_NONE && fused_calls++ >= asked->granted)
		return error_set(err, asked->refusal, "no fused product");
	return sound->gemm(stream, gemm, err);
}

static bool settled_as_expected(const struct network *n, const struct fusion_case *c)
{
	for (size_t l = n->partition.first; l < n->partition.last; l++) {
		bool summand =
			n->partition.parts > 1 &&
			model_layer_split(n->setup, l, n->partition.parts) != COLUMN_PARALLEL;

		/* its bias comes after the sum, or every rank computes it and none may choose */
		if (summand)
			continue;
		if (n->fusions[l] == FUSION_AUTO ||
		    (c->expected != FUSION_AUTO && n->fusions[l] != c->expected))
			return false;
	}
	return true;
}

static enum status train(struct rank_team *team, const struct fusion_case *c, struct error *err)
{
	struct trainer t = { 0 };
	struct verify_check check = { 0 };
	enum status status = trainer_open(&t, &c->setup, team, err);

	if (status == STATUS_OK && !settled_as_expected(&t.network, c))
		status = error_set(err, STATUS_INTERNAL, "another way was taken");
	status = world_agree(team->world, status, err);
	if (status == STATUS_OK)
		status = trainer_step(&t, STEP_ALL, err);
	trainer_close(&t);
	fused_calls = 0;
	return status == STATUS_OK ? verify_reference(&c->setup, team, &check, err) : status;
}

static enum status run_refused(struct device *device, struct world *world, void *context,
			       struct error *err)
{
	static struct backend refusing;
	struct rank_team team;
	enum status status;

	asked = context;
	fused_calls = 0;
	sound = device->backend;
	refusing = *sound;
	refusing.gemm = multiply;
	device->backend = &refusing;
	if (asked->accelerated)
		device->info.capabilities &= ~(unsigned)DEVICE_SHARES_HOST_MEMORY;
	status = rank_team_open(&team, device, world, err);
	if (status == STATUS_OK)
		status = train(&team, asked, err);
	rank_team_close(&team);
	device->backend = sound;
	return status;
}

static void expect(struct fusion_case c, enum status expected, const char *what)
{
	assert_ranks(run_ranks(c.setup.ranks, run_refused, &c), c.setup.ranks, expected, what);
}

/*
 * None at all; the first, after which others are refused; and as many as one layer's trial wants.
 */
static void refused_products_are_computed_the_other_way(void **state)
{
	static const char *const names[] = { "single", "ddp", "zero3", "tensor", "1f1b" };
	static const unsigned granted[] = { 0, 1, 3 };

	(void)state;
	for (size_t m = 0; m < sizeof(names) / sizeof(names[0]); m++)
		for (size_t g = 0; g < sizeof(granted) / sizeof(granted[0]); g++) {
			struct fusion_case c = { .setup = tiny(names[m], m ? 2 : 1, PRECISION_FP32),
						 .granted = granted[g],
						 .refusal = STATUS_UNSUPPORTED,
						 .expected = FUSION_OFF,
						 .accelerated = true };

			c.setup.microbatches = c.setup.mode->microbatched ? 4 : 1;
			expect(c, STATUS_OK, names[m]);
		}
}

static void granted_ones_may_be_taken(void **state)
{
	struct fusion_case c = { .setup = tiny("single", 1, PRECISION_FP32),
				 .granted = 1000000,
				 .expected = FUSION_AUTO,
				 .accelerated = true };

	(void)state;
	expect(c, STATUS_OK, "granted");
}

/* An explicit setting of the user, and a device that fails, are no reasons to take another path. */
static void other_failures_are_failures(void **state)
{
	struct fusion_case insists = { .setup = tiny("ddp", 2, PRECISION_FP32),
				       .refusal = STATUS_UNSUPPORTED,
				       .accelerated = true },
			   broken = { .setup = tiny("ddp", 2, PRECISION_FP32),
				      .refusal = STATUS_DEVICE,
				      .accelerated = true };

	(void)state;
	insists.setup.fusion = FUSION_ON;
	expect(insists, STATUS_UNSUPPORTED, "asked for");
	expect(broken, STATUS_DEVICE, "a device that fails");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refused_products_are_computed_the_other_way),
		cmocka_unit_test(granted_ones_may_be_taken),
		cmocka_unit_test(other_failures_are_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
