/*
 * --anonymise: none of the originals survives, the same original is the same word everywhere, and
 * what was measured stays.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/hash/siphash.h"
#include "base/text.h"
#include "plan/schema.h"
#include "result/anonymise/anonymise.h"
#include "result/host/environment.h"
#include "result/result_fields.h"
#include "sample_result.h"

static const char *const secrets[] = {
	"frodo.example.org",
	"frodo",
	"GPU-8f1c2d3e-1111-2222-3333-444455556666",
	"8f1c2d3e",
	"0000:3b:00.0",
	"S/N-1650",
	"1652923098765",
	"customer-a",
	"contract 77",
	"/home/",
	"alice",
	"secret.ini",
	"acme-limit",
	"our own measurement",
	"variant-x",
	"0123456789abcdef",
	"outdir",
	"3b:00.0",
	"bilbo",
	"strider",
	"rivendell",
};

static void set(char **target, const char *text)
{
	free(*target);
	*target = xstrdup(text);
}

static void add_setting(struct result *r, const char *section, const char *key, const char *value,
			const char *origin)
{
	r->settings = xrealloc(r->settings, r->setting_count + 1, sizeof(*r->settings));
	r->settings[r->setting_count++] =
		(struct result_setting){ xstrdup(section), xstrdup(key), xstrdup(value),
					 xstrdup(origin) };
}

static void add_fact(struct result *r, const char *name, const char *value)
{
	r->environment =
		xrealloc(r->environment, r->environment_count + 1, sizeof(*r->environment));
	r->environment[r->environment_count++] = (struct fact){ xstrdup(name), xstrdup(value) };
}

static void telling_result(struct result *r)
{
	struct case_result *c;

	sample_result(r);
	c = &r->cases[0];
	set(&r->label, "customer-a");
	set(&r->config_name, "/home/alice/secret.ini");
	set(&r->command, "gpuproof run /home/alice/secret.ini -o outdir --label=customer-a "
			 "-ooutdir --launches 5 -d cuda:0 --label 1652923098765");
	set(&r->config_text,
	    "[run]\nlabel = customer-a\n[report]\ntitle = contract 77\n[limit acme-limit]\n"
	    "metric = transfer.bandwidth\nmin = 1 GB/s\norigin = our own measurement\n"
	    "where = label:variant-x|other, size:>=1MiB\n; asked for by bilbo\nfree text of "
	    "bilbo\n");
	add_setting(r, "run", "label", "customer-a", "--label");
	add_setting(r, "report", "title", "contract 77", "/home/alice/secret.ini:4");
	add_setting(r, "limit acme-limit", "origin", "our own measurement",
		    "/home/alice/secret.ini:8");
	add_setting(r, "limit acme-limit", "metric", "transfer.bandwidth",
		    "/home/alice/secret.ini:6");
	add_fact(r, "hostname", "frodo.example.org");
	add_fact(r, "cuda:0 serial", "S/N-1650");
	add_fact(r, "env CUDA_VISIBLE_DEVICES", "GPU-8f1c2d3e-1111-2222-3333-444455556666");
	add_fact(r, "site", "rivendell");
	add_fact(r, "env NCCL_IB_HCA", "/opt/rivendell/hca");
	add_fact(r, "nccl", "2.28 from /home/alice/lib/libnccl.so.2");
	strcpy(r->devices[0].uuid, "GPU-8f1c2d3e-1111-2222-3333-444455556666");
	strcpy(r->devices[0].serial, "1652923098765");
	set(&c->label, "variant-x");
	set(&c->id, "transfer:variant-x/h2d/pinned/64MiB@cuda:0");
	set(&c->notes, "Measured on frodo for customer-a.");
	set(&c->reason,
	    "frodo: GPU-8f1c2d3e-1111-2222-3333-444455556666 at 3b:00.0 (0000:3b:00.0) fell off "
	    "(1652923098765), see \"/home/alice/core\" and ../alice/log: secret.ini:3");
	assert_true(r->preflight_count > 0);
	strcpy(r->preflight[0].subject, "driver");
	strcpy(r->preflight[0].text, "built by strider@rivendell");
	c = &r->cases[1];
	c->status = CASE_ERROR;
	set(&c->reason, "connect to rivendell failed");
	/* Another text quotes it. */
	set(&r->cases[0].verification.method, "none: connect to rivendell failed");
}

static void anonymise(const char *key_file, struct result *r)
{
	struct error err = ERROR_NONE;
	struct anonymiser a;

	assert_int_equal(anonymiser_init(&a, key_file, &err), STATUS_OK);
	assert_int_equal(anonymise_result(&a, r, &err), STATUS_OK);
}

static void none_survives(void **state)
{
	struct result r;
	char *json;

	(void)state;
	telling_result(&r);
	anonymise(NULL, &r);
	json = result_to_json(&r);
	for (size_t i = 0; i < ARRAY_SIZE(secrets); i++)
		if (strcasestr(json, secrets[i]))
			fail_msg("'%s' survives in %s", secrets[i], strcasestr(json, secrets[i]));
	free(json);
	result_release(&r);
}

/* A result with the text in every place where text of any kind may stand. */
static char *anonymised(const char *text)
{
	/* A random key can spell a short secret. */
	static const struct anonymiser known;
	struct error err = ERROR_NONE;
	struct result r;
	char *out;

	telling_result(&r);
	set(&r.label, text);
	set(&r.tags, text);
	set(&r.config_name, text);
	set(&r.cases[0].label, text);
	set(&r.cases[0].reason, text);
	set(&r.cases[0].notes, text);
	set(&r.cases[0].verification.method, text);
	snprintf(r.preflight[0].text, sizeof(r.preflight[0].text), "%s", text);
	snprintf(r.preflight[0].subject, sizeof(r.preflight[0].subject), "%s", text);
	add_fact(&r, "hostname", text);
	add_fact(&r, "openblas", text);
	add_fact(&r, "env OMP_PLACES", text);
	add_setting(&r, "run", "devices", text, text);
	add_setting(&r, "fleet", "nodes", text, "own.ini:5");
	assert_int_equal(anonymise_result(&known, &r, &err), STATUS_OK);
	out = result_to_json(&r);
	result_release(&r);
	return out;
}

/* Text from elsewhere that tells whose it is by its form. */
static void what_tells_by_its_form_goes(void **state)
{
	static const struct {
		const char *text, *secret;
	} rows[] = {
		{ "CUDA_VISIBLE_DEVICES=GPU-8f1c2d3e,GPU-9a", "8f1c2d3e" },
		{ "CUDA_VISIBLE_DEVICES=GPU-8f1c2d3e,GPU-9a", "GPU-9a" },
		{ "MIG-8f1c2d3e fell off", "8f1c2d3e" },
		{ "mount server9.x:/export failed", "server9" },
		{ "mount server9.x:/export failed", "/export" },
		{ "connect to 10.20.30.40<53455> failed", "10.20.30.40" },
		{ "connect to 10.20.30.40<53455> failed", "53455" },
		{ "192.168.1.7:5555: refused", "192.168" },
		{ "at fe80::a00:27ff:fe4e:66a1%eth0<5555>", "fe80" },
		{ "at fe80::a00:27ff:fe4e:66a1%eth0<5555>", "eth0" },
		{ "[2001:db8:0:1:2:3:4:5]", ":db8" },
		{ "port 08:00:27:4e:66:a1 is down", "27:4e" },
		{ "port 08-00-27-4e-66-a1 is down", "27-4e" },
		{ "see file:///home/alice/log", "alice" },
		{ "//home/alice/log: no such file", "alice" },
		{ "cc -I/home/alice/include x.c", "alice" },
		{ "cc -L/cluster/acme/lib x.c", "acme" },
		{ "LD_LIBRARY_PATH=x/opt/acme/lib", "acme" },
		{ "read ~alice/notes", "alice" },
		{ "cannot read '/srv/My Acme/x y.ini'", "Acme" },
		{ "cannot read \"/srv/My Acme/x y.ini\"", "x y" },
		{ "device 0 [0000:3b:00] is gone", "3b:00" },
		{ "device 0 [00000000:3B:00.0] is gone", "3B:00" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char *out = anonymised(rows[i].text);

		if (strcasestr(out, rows[i].secret))
			fail_msg("'%s' of '%s' survives in '%s'", rows[i].secret, rows[i].text,
				 strcasestr(out, rows[i].secret));
		free(out);
	}
}

/* Sentences go wherever they stand, and names where users write them: their form says nothing. */
static void sentences_and_names_go(void **state)
{
	struct result r;
	char *json;

	(void)state;
	telling_result(&r);
	add_fact(&r, "hostname", "Gollum7");
	add_setting(&r, "fleet", "nodes", "bilbo, strider", "own.ini:5");
	set(&r.cases[0].reason, "gollum7 and strider: no answer");
	set(&r.cases[0].notes, "rivendell is slow");
	anonymise(NULL, &r);
	json = result_to_json(&r);
	assert_null(strcasestr(json, "gollum7"));
	assert_null(strcasestr(json, "strider"));
	assert_null(strcasestr(json, "rivendell"));
	assert_null(strstr(json, "own.ini"));
	free(json);
	result_release(&r);
}

/* Values that look like it and tell nothing. */
static void values_that_only_look_alike_stay(void **state)
{
	static const char *const rows[] = {
		"55.45 GB/s",
		"1/2",
		"12.8.4, 2.28.9, 580.159.03",
		"GPU-accelerated GPU-0 of the GPU-based kind",
		"cuda:0, cuda:1",
		"~ 3 s",
		"1KiB..512MiB *4",
		"4096x4096x4096",
		"size:>=1MiB, mode:strict|loose",
		"0.97 * baseline",
		/* Cut at every place where an address might continue. */
		"at 08",
		"at 08:",
		"at 10.",
		"at 10.2.3.",
		"at ~",
		"at GPU-",
		"at 0000:3",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct result r;

		telling_result(&r);
		add_setting(&r, "run", "devices", rows[i], "default");
		add_fact(&r, "cpu", rows[i]);
		anonymise(NULL, &r);
		assert_string_equal(r.settings[r.setting_count - 1].value, rows[i]);
		assert_string_equal(r.environment[r.environment_count - 1].value, rows[i]);
		result_release(&r);
	}
}

/* The time does not grow with the square of a text that keeps looking like something. */
static void hostile_text_ends_soon(void **state)
{
	static const char *const units[] = { ":",    "/",  "a:", "a.",  "a-", "GPU-x ",
					     "'/a ", "~a", "1.", "-I/", "f:", "`/" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		struct text text = TEXT_EMPTY;

		while (text.length < 300000)
			text_add(&text, units[i]);
		free(anonymised(text.data));
		text_release(&text);
	}
}

/* A label of digits is one where it is a label; numbers stay. */
static void labels_of_digits_go(void **state)
{
	static const char *const labels[] = { "4711", "2026.11", "10.1.2.3", "8" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(labels); i++) {
		struct result r;
		char *config = xasprintf("[run]\nlabel = %s\nseed = 7\n[report]\ntitle = %s\n",
					 labels[i], labels[i]);
		char *command = xasprintf("gpuproof run t.ini --label %s --seed 7 --label=%s",
					  labels[i], labels[i]);

		sample_result(&r);
		set(&r.label, labels[i]);
		set(&r.config_text, config);
		set(&r.command, command);
		add_setting(&r, "run", "label", labels[i], "--label");
		add_setting(&r, "run", "seed", "7", "--seed");
		anonymise(NULL, &r);
		assert_true(text_starts_with(r.label, "label-"));
		free(config);
		config =
			xasprintf("[run]\nlabel = %s\nseed = 7\n[report]\ntitle = title-", r.label);
		assert_true(text_starts_with(r.config_text, config));
		assert_null(strstr(r.command, "label"));
		assert_string_equal(r.settings[r.setting_count - 2].value, r.label);
		assert_string_equal(r.settings[r.setting_count - 1].value, "7");
		free(config);
		free(command);
		result_release(&r);
	}
}

static void measurements_stay(void **state)
{
	struct result before, after;

	(void)state;
	telling_result(&before);
	telling_result(&after);
	anonymise(NULL, &after);
	assert_int_equal(after.case_count, before.case_count);
	assert_string_equal(after.devices[0].name, "NVIDIA H200");
	assert_string_equal(after.cases[0].parameters[0].text, "h2d");
	assert_string_equal(after.cases[0].metrics[0].name, before.cases[0].metrics[0].name);
	assert_memory_equal(after.cases[0].series[0].samples, before.cases[0].series[0].samples,
			    before.cases[0].series[0].count * sizeof(double));
	assert_string_equal(after.started, before.started);
	assert_non_null(strstr(after.config_text, "metric = transfer.bandwidth\nmin = 1 GB/s\n"));
	assert_non_null(strstr(after.config_text, ", size:>=1MiB\n"));
	assert_non_null(strstr(after.cases[0].id, "transfer:label-"));
	assert_true(text_ends_with(after.cases[0].id, "/h2d/pinned/64MiB@cuda:0"));
	/* The same word for the same name, wherever it stands. */
	assert_non_null(strstr(after.cases[0].id, after.cases[0].label));
	assert_non_null(strstr(after.config_text, after.label));
	assert_non_null(strstr(after.config_text, after.cases[0].label));
	assert_string_equal(after.cases[0].notes, "");
	assert_string_equal(after.cases[0].reason, ANONYMISE_LEFT_OUT);
	assert_string_equal(after.cases[1].reason, ANONYMISE_LEFT_OUT);
	assert_null(result_fact(&after, "site"));
	assert_true(text_starts_with(result_fact(&after, "env CUDA_VISIBLE_DEVICES"), "env-"));
	result_release(&before);
	result_release(&after);
}

static char *label_with(const char *key_file)
{
	struct result r;
	char *label;

	telling_result(&r);
	anonymise(key_file, &r);
	label = xstrdup(r.label);
	result_release(&r);
	return label;
}

/* The rows of suites are the program's: what looks like a path or a host in them is none. */
static void rows_of_pages_stay(void **state)
{
	static const struct metric metrics[] = {
		{ "collective.busbw", "B/s", BETTER_HIGHER, 1,
		  "2(n-1)/n for all_reduce; (n-1)/n for stream" },
		{ 0 },
	};
	const struct presentation rows = { .suite = "collective", .metrics = metrics };
	struct result r;

	(void)state;
	telling_result(&r);
	add_fact(&r, "hostname", "stream");
	result_present(&r, &rows);
	anonymise(NULL, &r);
	assert_string_equal(result_presentation(&r, "collective")->metrics[0].help,
			    metrics[0].help);
	result_release(&r);
}

static void key_decides(void **state)
{
	char path[] = "/tmp/gpuproof_key.XXXXXX";
	int fd = mkstemp(path);
	struct error err = ERROR_NONE;
	struct anonymiser a;
	char *first, *second, *random;

	(void)state;
	assert_int_equal(write(fd, "short", 5), 5);
	assert_int_equal(anonymiser_init(&a, path, &err), STATUS_USAGE);
	assert_int_equal(write(fd, " but long enough now", 20), 20);
	close(fd);
	first = label_with(path);
	second = label_with(path);
	random = label_with(NULL);
	assert_string_equal(first, second);
	assert_string_not_equal(first, random);
	unlink(path);
	free(first);
	free(second);
	free(random);
	error_clear(&err);
	assert_int_equal(anonymiser_init(&a, "/nowhere/key", &err), STATUS_IO);
}

static void own_words_stay(void **state)
{
	struct result r;

	(void)state;
	telling_result(&r);
	/* A label that is a suite's name, a part of a metric's, or a number. */
	set(&r.label, "bandwidth");
	anonymise(NULL, &r);
	assert_string_equal(r.cases[0].metrics[0].name, "transfer.bandwidth");
	assert_non_null(strstr(r.config_text, "transfer.bandwidth"));
	result_release(&r);
}

/* Claims look for the labels of shipped configs, by whatever config they were measured. */
static void labels_of_shipped_sections_stay(void **state)
{
	static const char *const labels[] = { "optimizers", "links", "widened-sweep" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(labels); i++) {
		struct result r;

		sample_result(&r);
		set(&r.config_name, "/home/alice/claims.ini");
		set(&r.cases[0].label, labels[i]);
		/* A file's own statement is no proof. */
		add_setting(&r, "suite transfer widened-sweep", "sizes", "1MiB", "claims.ini:20");
		anonymise(NULL, &r);
		assert_int_equal(strcmp(r.cases[0].label, labels[i]) == 0, i < 2);
		result_release(&r);
	}
}

/* Each string of the rows, and below them, must say what is published of it. */
static void check_members(const struct field *fields, const char *parent)
{
	/* Numbers, and words of the program. A row of any other codec says what becomes of it. */
	static const struct codec *const harmless[] = {
		&codec_real,   &codec_int,    &codec_int64,    &codec_unsigned,
		&codec_uint64, &codec_bool,   &codec_tristate, &codec_bits,
		&codec_reals,  &codec_counts, &codec_enum,     &codec_flags,
	};

	for (const struct field *f = fields; f->name; f++) {
		char *path = xasprintf("%s%s%s", parent, *parent ? "." : "", f->name);
		bool text = !f->fields;

		for (size_t i = 0; i < ARRAY_SIZE(harmless); i++)
			text = text && f->codec != harmless[i];
		if (text && f->publish == PUBLISH_UNDECIDED)
			fail_msg("its row does not say what becomes of %s", path);
		assert_int_equal(f->kind != NULL,
				 f->publish == PUBLISH_NAME || f->publish == PUBLISH_LABEL);
		if (f->fields && f->codec != &codec_rows && strcmp(f->name, "presentation") != 0)
			check_members(f->fields, path);
		free(path);
	}
}

/* Publication of a new member of the result is decided here, not by chance. */
static void every_string_of_a_result_has_a_rule(void **state)
{
	(void)state;
	check_members(result_fields, "");
}

static bool is_in(const char *const *words, const char *word)
{
	for (; *words; words++)
		if (strcmp(*words, word) == 0)
			return true;
	return false;
}

static void check_fact(void *context, const char *name, const char *value)
{
	(void)context;
	(void)value;
	if (strcmp(name, "hostname") != 0 && !text_starts_with(name, "env ") &&
	    !anonymise_listed(anonymise_facts, name))
		fail_msg("anonymise.c does not know the fact '%s'", name);
}

static void every_fact_of_a_host_has_a_rule(void **state)
{
	(void)state;
	environment_collect(check_fact, NULL);
}

/* For a key whose value is any text it is decided whether users think it up. */
static void every_text_key_has_a_rule(void **state)
{
	static const char *const grammar[] = { "backend",
					       "devices",
					       "suites",
					       "reference",
					       "memory_limits",
					       "baseline",
					       "metric",
					       "unit",
					       "where",
					       "min",
					       "max",
					       "outlier_margin",
					       "outlier_margin_warn",
					       "population",
					       "fleet",
					       "min_nodes",
					       "memory_limit",
					       "hybrid",
					       "recompute",
					       "loss_scale",
					       NULL };
	static const struct key *const tables[] = { run_keys, report_keys, limit_keys, suite_keys,
						    fleet_keys };

	(void)state;
	for (size_t t = 0; t < ARRAY_SIZE(tables); t++)
		for (const struct key *k = tables[t]; k->name; k++)
			if (k->type == KEY_TEXT && !is_in(grammar, k->name) &&
			    !anonymise_listed(anonymise_named_keys, k->name))
				fail_msg("anonymise_named_keys lacks '%s'", k->name);
	for (const struct suite *const *s = suites; *s; s++)
		for (const struct key *k = (*s)->keys; k && k->name; k++)
			if (k->type == KEY_TEXT && !is_in(grammar, k->name) &&
			    !anonymise_listed(anonymise_named_keys, k->name))
				fail_msg("suite %s: anonymise_named_keys lacks '%s'", (*s)->name,
					 k->name);
}

/* The example of the paper's appendix A: key 00..0f, message 00..0e. */
static void hash_is_siphash(void **state)
{
	const struct siphash_key key = { UINT64_C(0x0706050403020100),
					 UINT64_C(0x0f0e0d0c0b0a0908) };
	unsigned char message[15];

	(void)state;
	for (unsigned char i = 0; i < sizeof(message); i++)
		message[i] = i;
	assert_true(siphash(&key, message, sizeof(message)) == UINT64_C(0xa129ca6149be45e5));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(none_survives),
		cmocka_unit_test(what_tells_by_its_form_goes),
		cmocka_unit_test(sentences_and_names_go),
		cmocka_unit_test(values_that_only_look_alike_stay),
		cmocka_unit_test(rows_of_pages_stay),
		cmocka_unit_test(hostile_text_ends_soon),
		cmocka_unit_test(labels_of_digits_go),
		cmocka_unit_test(measurements_stay),
		cmocka_unit_test(key_decides),
		cmocka_unit_test(own_words_stay),
		cmocka_unit_test(labels_of_shipped_sections_stay),
		cmocka_unit_test(every_string_of_a_result_has_a_rule),
		cmocka_unit_test(every_fact_of_a_host_has_a_rule),
		cmocka_unit_test(every_text_key_has_a_rule),
		cmocka_unit_test(hash_is_siphash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
