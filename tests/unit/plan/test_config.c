/* Config: what the files in tests/config cannot say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/embedded.h"
#include "base/memory.h"
#include "base/text.h"
#include "config_suites.h"
#include "plan/ini/ini.h"
#include "plan/value.h"

/* Parses; returns the errors ("" when there are none), valid until the next call. */
static const char *parse(struct config *config, const char *text, size_t length,
			 const char *const *sets)
{
	static struct text errors;
	struct override overrides[8];
	size_t count = 0;
	enum status status;

	for (; sets && sets[count]; count++)
		overrides[count].text = sets[count];
	text_reset(&errors);
	status = config_parse_with(config, &test_schema, "a.ini", text, length, overrides, count,
				   &errors);
	assert_int_equal(status, errors.length ? STATUS_USAGE : STATUS_OK);
	if (errors.length)
		assert_int_equal(config->count, 0);
	return errors.data ? errors.data : "";
}

static const char *parse_text(struct config *config, const char *text)
{
	return parse(config, text, strlen(text), NULL);
}

static void values_are_typed(void **state)
{
	struct config c;
	const struct section *copy, *gemm, *train;

	(void)state;
	assert_string_equal(parse_text(&c, "[run]\nseed = 42\ncase_limit = 2 min\n[suite copy]\n"
					   "sizes = 1KiB..8KiB *2\n"
					   "directions = both, up\nverify = off\ntarget = 2.5 %\n"
					   "[suite gemm]\nsizes = 64, 8x16x32\ntolerance = 0.25\n"
					   "[suite train slow]\nbatch = 7\nlayers = 3..5, 3\n"),
			    "");
	assert_int_equal(section_integer(config_section(&c, "run", ""), "seed"), 42);
	assert_true(section_real(config_section(&c, "run", ""), "case_limit") == 120);
	copy = config_section(&c, "suite", "copy");
	assert_ptr_equal(copy->suite, &copy_suite);
	assert_int_equal(section_setting(copy, "sizes")->count, 4);
	assert_int_equal(section_setting(copy, "sizes")->values[3].integer, 8192);
	assert_int_equal(section_setting(copy, "directions")->values[0].integer, 2);
	assert_int_equal(section_integer(copy, "verify"), 0);
	assert_true(section_real(copy, "target") == 2.5 * 0.01);
	gemm = config_section(&c, "suite", "gemm");
	assert_int_equal(section_setting(gemm, "sizes")->values[0].shape[2], 64);
	assert_int_equal(section_setting(gemm, "sizes")->values[1].shape[1], 16);
	assert_string_equal(section_setting(gemm, "sizes")->values[1].text, "8x16x32");
	assert_true(section_real(gemm, "tolerance") == 0.25);
	train = config_section(&c, "suite", "train");
	assert_string_equal(train->label, "slow");
	assert_int_equal(section_setting(train, "layers")->count, 4);
	assert_null(config_section(&c, "suite", "nothing"));
	config_release(&c);
}

static void overrides_win_over_files(void **state)
{
	static const char file[] =
		"[defaults]\nwarmup = 3\n[suite copy]\nsizes = 1KiB\n[suite copy b]\n"
		"sizes = 2KiB\n";
	static const char *const sets[] = { "copy.sizes=4KiB,8KiB", "suite copy b.verify = no",
					    "run.seed=5",           "defaults.warmup=9",
					    "copy:b.note=a=b.c",    "report.title=T",
					    "run.seed=6",           NULL };
	struct config c;

	(void)state;
	assert_string_equal(parse(&c, file, strlen(file), sets), "");
	assert_int_equal(c.count, 4);
	for (size_t i = 1; i <= 2; i++) {
		assert_string_equal(section_text(&c.sections[i], "sizes"), "4KiB");
		assert_string_equal(section_setting(&c.sections[i], "sizes")->origin, "--set");
		assert_int_equal(section_integer(&c.sections[i], "warmup"), 9);
	}
	assert_string_equal(section_text(&c.sections[1], "verify"), "yes");
	assert_string_equal(section_text(&c.sections[2], "verify"), "no");
	assert_string_equal(section_text(&c.sections[1], "note"), "");
	assert_string_equal(section_text(&c.sections[2], "note"), "a=b.c");
	assert_int_equal(section_integer(&c.sections[0], "seed"), 6);
	assert_string_equal(section_text(&c.sections[3], "title"), "T");
	config_release(&c);
}

static void wrong_overrides_are_errors(void **state)
{
	static const struct {
		const char *set, *error;
	} rows[] = {
		{ "copy.sizes=64",
		  "--set copy.sizes=64: [suite copy] sizes = 64: '64' lacks a unit; allowed units: "
		  "B, KiB, MiB, GiB, TiB, kB, KB, MB, GB, TB\n" },
		{ "run.sede=1",
		  "--set run.sede=1: [run] has no key 'sede' (did you mean 'seed'?); keys: "
		  "backend, devices, host_devices, suites, only, launches, launch_target, "
		  "launches_most, emulate_capability, "
		  "seed, label, tags, promises, verdict, telemetry, case_limit\n" },
		{ "gemm.sizes=64", "--set gemm.sizes=64: the config has no [suite gemm]\n" },
		{ "copy:x.sizes=1B", "--set copy:x.sizes=1B: the config has no [suite copy x]\n" },
		{ "cpoy.sizes=1B", "--set cpoy.sizes=1B: [suite cpoy]: unknown suite 'cpoy' "
				   "(did you mean 'copy'?); suites: copy, gemm, train\n" },
		{ "rum.seed=1",
		  "--set rum.seed=1: [rum] is not a section (did you mean 'run'?); sections: "
		  "[run], [defaults], [suite NAME], [suite NAME label], [limit NAME], [report], "
		  "[fleet]\n" },
		{ "limit a.min=47",
		  "--set limit a.min=47: [limit a] needs the key metric: metric to "
		  "limit, such as transfer.bandwidth\n" },
		{ "limit:a.sede=47 GB/s",
		  "--set limit:a.sede=47 GB/s: [limit a] has no key 'sede'; keys: metric, where, "
		  "min, max, outlier_margin, outlier_margin_warn, fleet, population, sigmas, "
		  "launch_spread, devices, severity, accept_derived, allow_skipped, origin\n"
		  "--set limit:a.sede=47 GB/s: [limit a] needs the key metric: metric to limit, "
		  "such as "
		  "transfer.bandwidth\n" },
		{ "suite cpoy.sizes=1B",
		  "--set suite cpoy.sizes=1B: [suite cpoy]: unknown suite 'cpoy' (did you mean "
		  "'copy'?); suites: copy, gemm, train\n" },
		{ "seed=1", "--set seed=1: write --set section.key=value\n" },
		{ "run.=1", "--set run.=1: write --set section.key=value\n" },
		{ ".seed=1", "--set .seed=1: write --set section.key=value\n" },
		{ "run.seed", "--set run.seed: write --set section.key=value\n" },
		{ "", "--set : write --set section.key=value\n" },
		{ "run.label=$GPUPROOF_TEST_UNSET",
		  "--set run.label=$GPUPROOF_TEST_UNSET: the environment variable "
		  "GPUPROOF_TEST_UNSET is not set (write $$ for a dollar sign)\n" },
		{ "run.label=a\nb",
		  "--set run.label=a?b: the value contains the control character 0x0a\n" },
		{ "run.label=;x", "--set run.label=;x: a value cannot start with ';', because that "
				  "starts a comment\n" },
		{ "run.backend=hots", "--set run.backend=hots: [run] backend = hots: 'hots' is not "
				      "one of auto, cuda, host (did you mean 'host'?)\n" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *const sets[] = { rows[i].set, NULL };
		struct config c;

		assert_string_equal(parse(&c, "[suite copy]\n", 13, sets), rows[i].error);
	}
}

static void bytes_that_are_no_text_are_refused(void **state)
{
	static const char nul[] = "[run]\nseed = 1\0\n[suite copy]\nnote = a\0b\n";
	static const char utf16[] = "\xff\xfe[\0r\0u\0n\0]\0\n\0";
	struct config c;

	(void)state;
	assert_string_equal(parse(&c, nul, sizeof(nul) - 1, NULL),
			    "a.ini:2: NUL byte in column 9; not a text file\n"
			    "a.ini:4: NUL byte in column 9; not a text file\n");
	assert_non_null(
		strstr(parse(&c, utf16, sizeof(utf16) - 1, NULL), "a.ini:1: NUL byte in column 4"));
}

static void over_long_lines_are_refused_and_long_ones_are_not(void **state)
{
	struct text t = TEXT_EMPTY;
	struct config c;
	size_t size = 1000000;
	char *note = xmalloc(size + 1);

	(void)state;
	memset(note, 'x', size);
	note[size] = '\0';
	text_addf(&t, "[suite copy]\nnote = %s\nverify = maybe\n", note);
	assert_string_equal(parse(&c, t.data, t.length, NULL),
			    "a.ini:2: the line has 1000007 bytes; at most 262144 are allowed\n"
			    "a.ini:3: [suite copy] verify = maybe: 'maybe' is not yes or no (or "
			    "on, off, true, false)\n");
	text_reset(&t);
	text_addf(&t, "[suite copy]\nnote = %.*s\n", INI_LINE_MAX / 4 + 1, note);
	assert_non_null(strstr(parse(&c, t.data, t.length, NULL),
			       "the value has 65537 bytes; at most 65536 are allowed"));
	text_reset(&t);
	text_addf(&t, "[suite copy]\nnote = %.*s\n", INI_LINE_MAX / 4, note);
	assert_string_equal(parse(&c, t.data, t.length, NULL), "");
	assert_int_equal(strlen(section_text(&c.sections[1], "note")), INI_LINE_MAX / 4);
	config_release(&c);
	text_release(&t);
	free(note);
}

/* Values of any length with whatever separates, ends or begins something elsewhere. */
static void no_length_is_cut(void **state)
{
	static const char pattern[] = "ab;c d#e, =[f]:  gh\xc3\xa9";
	struct config c;

	(void)state;
	for (size_t length = 1; length <= 700; length++) {
		struct text value = TEXT_EMPTY, file = TEXT_EMPTY;

		text_add_char(&value, 'a');
		while (value.length + sizeof(pattern) < length + 1)
			text_add(&value, pattern);
		while (value.length < length)
			text_add_char(&value, 'z');
		text_addf(&file,
			  "[suite copy]\nverify = no\nnote = %s ; a comment, %s\nmax_samples = "
			  "77\n",
			  value.data, value.data);
		assert_string_equal(parse(&c, file.data, file.length, NULL), "");
		assert_string_equal(section_text(&c.sections[1], "note"), value.data);
		assert_int_equal(section_integer(&c.sections[1], "max_samples"), 77);
		config_release(&c);
		text_release(&value);
		text_release(&file);
	}
}

static void long_lines_that_are_no_entry_harm_no_other(void **state)
{
	struct text file = TEXT_EMPTY;
	struct config c;

	(void)state;
	text_add(&file, "[suite copy]\nnote = short\n");
	for (int i = 0; i < 300; i++)
		text_add(&file, "word=");
	text_add(&file, "\n");
	for (int i = 0; i < 300; i++)
		text_add(&file, "word");
	text_add(&file, " = x\n");
	for (int i = 0; i < 300; i++)
		text_add(&file, "word");
	text_add(&file, "\nverify = 5\nsizes = 1KiB,");
	for (int i = 0; i < 300; i++)
		text_add_char(&file, ' ');
	text_add(&file, "2KiB\n");
	assert_string_equal(
		parse(&c, file.data, file.length, NULL),
		"a.ini:3: [suite copy] has no key 'word'; keys: sizes, directions, verify, note, "
		"backend, identical_devices, stage, min_samples, max_samples, target, max_time, "
		"settle_time, sample_time, warmup, preheat, energy_time\n"
		"a.ini:4: [suite copy] has no key "
		"'wordwordwordwordwordwordwordwordwordwordwordwordwordwordword'; keys: sizes, "
		"directions, verify, note, backend, identical_devices, stage, min_samples, "
		"max_samples, target, max_time, settle_time, sample_time, warmup, preheat, "
		"energy_time\n"
		"a.ini:5: 'wordwordwordwordwordwordwordwordwordwordwordwordwordwordword' is "
		"neither a [section] nor key = value\n"
		"a.ini:6: [suite copy] verify = 5: '5' is not yes or no (or on, off, true, "
		"false)\n");
	text_release(&file);
}

static void long_values_come_whole(void **state)
{
	static const char *const units[] = { "#",         ".;",   "x ", "# ",   "x;",
					     "\303\251 ", "a\tb", "=",  "[x] ", "#;:=" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		for (size_t length = 180; length < 1000; length += 37) {
			struct text value = TEXT_EMPTY, file = TEXT_EMPTY, written = TEXT_EMPTY;
			struct config c;

			while (value.length < length)
				text_add(&value, units[i]);
			text_add_char(&value, 'x');
			text_addf(&file, "[suite copy]\nnote = %s  ; a comment\n", value.data);
			assert_string_equal(parse(&c, file.data, file.length, NULL), "");
			assert_string_equal(section_text(config_section(&c, "suite", "copy"),
							 "note"),
					    value.data);
			config_write(&c, 0, &written);
			config_release(&c);
			assert_string_equal(parse(&c, written.data, written.length, NULL), "");
			assert_string_equal(section_text(config_section(&c, "suite", "copy"),
							 "note"),
					    value.data);
			config_release(&c);
			text_release(&value);
			text_release(&file);
			text_release(&written);
		}
	}
}

/*
 * A file that is no config by far is refused at once: the time does not grow with the square of its
 * size.
 */
static void masses_of_keys_and_sections_end_soon(void **state)
{
	struct text file = TEXT_EMPTY;
	struct config c;
	const char *errors;

	(void)state;
	text_add(&file, "[suite copy]\n");
	for (int i = 0; i < 300000; i++)
		text_addf(&file, "k%d=1\n", i);
	errors = parse(&c, file.data, file.length, NULL);
	assert_true(text_starts_with(errors, "a.ini:2: [suite copy] has no key 'k0'"));
	assert_true(text_ends_with(errors, "... and 901 more errors\n"));
	text_reset(&file);
	for (int i = 0; i < 100000; i++)
		text_addf(&file, "[suite copy l%d]\n", i);
	errors = parse(&c, file.data, file.length, NULL);
	assert_string_equal(errors, "a.ini:4001: more than 4000 sections\n");
	text_release(&file);
}

/* A message is UTF-8 where it cuts what it quotes. */
static void messages_are_not_cut_within_a_character(void **state)
{
	char *text = xasprintf("[suite copy]\n%059d\303\251 = 1\n", 0);
	char *expected = xasprintf("a.ini:2: [suite copy] has no key '%059d'; keys: ", 0);
	struct config c;
	const char *errors;

	(void)state;
	errors = parse_text(&c, text);
	assert_true(text_starts_with(errors, expected));
	assert_true(text_is_utf8(errors, strlen(errors)));
	free(expected);
	free(text);
}

static void section_names_are_not_cut(void **state)
{
	char label[64];
	struct config c;

	(void)state;
	for (size_t length = 1; length < 60; length++) {
		struct text file = TEXT_EMPTY;
		size_t whole = strlen("suite copy ") + length;
		char *expected = xasprintf(
			"a.ini:1: the section name has %zu bytes; at most 49 are allowed\n", whole);

		memset(label, 'x', length);
		label[length] = '\0';
		text_addf(&file, "[suite copy %s]\n[suite copy]\n", label);
		assert_string_equal(parse(&c, file.data, file.length, NULL),
				    whole > 49 ? expected : "");
		if (whole <= 49)
			assert_string_equal(c.sections[1].label, label);
		config_release(&c);
		text_release(&file);
		free(expected);
	}
}

#define EVERY_CONFIG "*"

/* `expected` with EVERY_CONFIG at its end replaced by the shipped configs' names. malloc'ed. */
static char *with_configs(const char *expected)
{
	struct text out = TEXT_EMPTY;

	if (!text_ends_with(expected, EVERY_CONFIG))
		return xstrdup(expected);
	text_add_bytes(&out, expected, strlen(expected) - strlen(EVERY_CONFIG));
	for (const struct embedded_file *f = embedded_configs; f->name; f++)
		text_addf(&out, "%s%.*s", f == embedded_configs ? "" : ", ",
			  (int)strcspn(f->name, "."), f->name);
	text_add_char(&out, '\n');
	return text_detach(&out);
}

static void unreadable_sources_are_errors(void **state)
{
	char folder[] = "/tmp/gpuproof-config-XXXXXX";
	static const struct {
		const char *source, *error;
	} rows[] = {
		{ ".", ".: is a directory, not a config file\n" },
		{ "plain.ini/inside.ini", "plain.ini/inside.ini: cannot open: Not a directory\n" },
		{ "nothing.ini", "nothing.ini: no such file\n" },
		{ "./quick", "./quick: no such file\n" },
		{ "loop.ini", "loop.ini: cannot open: Too many levels of symbolic links\n" },
		{ "",
		  ": neither a file nor a shipped config has this name; shipped: " EVERY_CONFIG },
		{ "qick", "qick: neither a file nor a shipped config has this name (did you mean "
			  "'quick'?); shipped: " EVERY_CONFIG },
		{ "/dev/zero", "/dev/zero: is larger than 4 MiB, so it is not a config\n" },
		{ "locked.ini", "locked.ini: cannot open: Permission denied\n" },
		{ "pipe", "pipe: is a pipe to which no process writes\n" },
		{ "includes.ini",
		  "includes.ini:1: include = pipe: is a pipe to which no process writes\n" },
	};
	FILE *f;

	(void)state;
	assert_non_null(mkdtemp(folder));
	assert_int_equal(chdir(folder), 0);
	f = fopen("plain.ini", "w");
	fputs("[suite copy]\n", f);
	fclose(f);
	f = fopen("includes.ini", "w");
	fputs("include = pipe\n[suite copy]\n", f);
	fclose(f);
	assert_int_equal(mkfifo("pipe", 0600), 0);
	f = fopen("locked.ini", "w");
	fclose(f);
	assert_int_equal(chmod("locked.ini", 0), 0);
	assert_int_equal(symlink("loop.ini", "loop.ini"), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct text errors = TEXT_EMPTY;
		struct config c;
		char *expected;

		if (strcmp(rows[i].source, "locked.ini") == 0 && access("locked.ini", R_OK) == 0) {
			print_message("root reads every file: locked.ini is not tried\n");
			continue;
		}
		assert_int_equal(config_load_with(&c, &test_schema, rows[i].source, NULL, 0,
						  &errors),
				 STATUS_USAGE);
		expected = with_configs(rows[i].error);
		assert_string_equal(errors.data, expected);
		free(expected);
		text_release(&errors);
	}
	assert_int_equal(chdir("/"), 0);
	{
		char *command = xasprintf("rm -rf '%s'", folder);

		assert_int_equal(system(command), 0);
		free(command);
	}
}

static void many_errors_are_counted(void **state)
{
	struct text file = TEXT_EMPTY;
	struct config c;
	const char *errors;

	(void)state;
	text_add(&file, "[suite copy]\n");
	for (int i = 0; i < 150; i++)
		text_addf(&file, "what%d = x\n", i);
	errors = parse(&c, file.data, file.length, NULL);
	assert_non_null(strstr(errors, "a.ini:101: "));
	assert_null(strstr(errors, "a.ini:102: "));
	assert_true(text_ends_with(errors, "... and 50 more errors\n"));
	text_release(&file);
}

/* Any bytes: no crash, and either errors or a config that loads again to the same. */
static void damaged_files_never_crash(void **state)
{
	static const char valid[] =
		"[run]\nseed = 7\nlabel = $$x \xc3\xa9\n[defaults]\ntarget = 1 %\n"
		"[suite copy a]\nsizes = 1KiB..1GiB *4, 5MB\n[suite gemm]\nsizes=1..9 +2,8x8x9\n"
		"[limit a]\nmetric = copy.bandwidth\nwhere = sizes:>=4KiB, directions:up|down, "
		"model:H\n"
		"min = 0.8 * spec.pcie_bandwidth\nmax=90 GB/s\noutlier_margin = 2 %\n";
	static const char bytes[] = "[]=;#:.$,*+x0|%> \n\r\t\0\xff\xc3";
	unsigned random = 12345;

	(void)state;
	for (int round = 0; round < 4000; round++) {
		char damaged[sizeof(valid)];
		size_t length = sizeof(valid) - 1;
		struct text errors = TEXT_EMPTY, first = TEXT_EMPTY, second = TEXT_EMPTY;
		struct config c, again;

		memcpy(damaged, valid, sizeof(valid));
		for (int i = 0; i < 1 + round % 4; i++) {
			random = random * 1664525 + 1013904223;
			damaged[(random >> 8) % length] =
				bytes[(random >> 20) % (sizeof(bytes) - 1)];
		}
		if (config_parse_with(&c, &test_schema, "d.ini", damaged, length, NULL, 0,
				      &errors) == STATUS_OK) {
			config_write(&c, round % 2, &first);
			assert_int_equal(config_parse_with(&again, &test_schema, "d.ini",
							   first.data, first.length, NULL, 0,
							   &errors),
					 STATUS_OK);
			config_write(&again, 0, &second);
			text_reset(&first);
			config_write(&c, 0, &first);
			assert_string_equal(first.data, second.data);
			config_release(&again);
		} else {
			assert_true(errors.length > 0);
		}
		config_release(&c);
		text_release(&errors);
		text_release(&first);
		text_release(&second);
	}
}

/* A mistake in a suite's tables is found here, not by who uses the key first. */
static void every_suite_of_the_program_is_sound(void **state)
{
	(void)state;
	for (const struct suite *const *s = schema_program.suites; *s; s++) {
		struct key_walk walk = schema_keys(&schema_program, "suite", *s);
		const struct key *key;

		while ((key = schema_key_next(&walk))) {
			struct values values;
			struct error err = ERROR_NONE;

			assert_non_null(key->help);
			assert_true(strspn(key->name, "abcdefghijklmnopqrstuvwxyz0123456789_") ==
				    strlen(key->name));
			/* A name that stands twice hides the second key. */
			assert_ptr_equal(schema_key(&schema_program, "suite", *s, key->name), key);
			if (key->fallback &&
			    values_parse(&values, key, key->fallback, schema_is_axis(*s, key),
					 &err) != STATUS_OK)
				fail_msg("[suite %s] %s: %s", (*s)->name, key->name, err.message);
			if (key->fallback)
				values_release(&values);
		}
		for (const char *const *axis = (*s)->axes; axis && *axis; axis++) {
			key = schema_key(&schema_program, "suite", *s, *axis);
			if (!key || !key->list)
				fail_msg("[suite %s]: the axis %s is no list key", (*s)->name,
					 *axis);
		}
	}
}

static void embedded_configs_are_valid_and_can_be_included(void **state)
{
	(void)state;
	for (const struct embedded_file *file = embedded_configs; file->name; file++) {
		char *name = xstrndup(file->name, strlen(file->name) - strlen(".ini"));
		char *text = xasprintf("include = %s\n[run]\nlabel = mine\n", name);
		struct text errors = TEXT_EMPTY;
		struct config config, including;

		if (config_load(&config, name, NULL, 0, &errors) != STATUS_OK)
			fail_msg("%s", errors.data);
		assert_string_equal(config.name, name);
		assert_int_equal(config_parse(&including, "a.ini", text, strlen(text), NULL, 0,
					      &errors),
				 STATUS_OK);
		assert_int_equal(including.count, config.count);
		assert_string_equal(section_text(&including.sections[0], "label"), "mine");
		assert_string_equal(including.sections[1].origin, config.sections[1].origin);
		config_release(&config);
		config_release(&including);
		free(text);
		free(name);
	}
}

/*
 * `run quick` says something about each of these suites, on a machine with GPUs and on one without;
 * about ranks with only one device, that they need more. A soak of seconds would be none: burn has
 * a config of its own.
 */
static void quick_plans_its_suites(void **state)
{
	static const char *const expected[] = { "selftest", "launch",  "alloc", "transfer",
						"stream",   "matmul",  "peak",  "collective",
						"parallel", "trainmem" };
	/* clang-format off: rows */
	static const struct device_info gpus[] = {
		{ .id = "cuda:0",
		  .backend = "cuda",
		  .index = 0,
		  .memory_bytes = 1ull << 37,
		  .capabilities = ~(unsigned)DEVICE_IS_HOST,
		  .peers = { { 3 } } },
		{ .id = "cuda:1",
		  .backend = "cuda",
		  .index = 1,
		  .memory_bytes = 1ull << 37,
		  .capabilities = ~(unsigned)DEVICE_IS_HOST,
		  .peers = { { 3 } } },
	};
	/* clang-format on */
	/* clang-format off: rows */
	static const struct device_info cpus[] = {
		{ .id = "host:0",
		  .backend = "host",
		  .index = 0,
		  .memory_bytes = 1ull << 31,
		  .capabilities = ~0u,
		  .peers = { { 3 } } },
		{ .id = "host:1",
		  .backend = "host",
		  .index = 1,
		  .memory_bytes = 1ull << 31,
		  .capabilities = ~0u,
		  .peers = { { 3 } } },
	};
	/* clang-format on */
	const struct device_info *const machines[] = { gpus, cpus };

	(void)state;
	for (size_t m = 0; m < ARRAY_SIZE(machines); m++) {
		for (size_t devices = 1; devices <= 2; devices++) {
			struct text errors = TEXT_EMPTY;
			struct error err = ERROR_NONE;
			struct config config;
			struct plan plan;

			assert_int_equal(config_load(&config, "quick", NULL, 0, &errors),
					 STATUS_OK);
			if (plan_build(&plan, &config, machines[m], devices, &err) != STATUS_OK)
				fail_msg("%s", err.message);
			for (size_t e = 0; e < ARRAY_SIZE(expected); e++) {
				const struct suite *suite = suite_find(expected[e]);
				size_t cases = 0;

				for (size_t i = 0; i < plan.case_count; i++)
					cases += plan.cases[i].suite == suite &&
						 (!plan.cases[i].skip_reason ||
						  (devices == 1 &&
						   suite->processes == SUITE_PROCESS_PER_DEVICE));
				if (!cases)
					fail_msg("quick runs nothing of %s on %s", expected[e],
						 machines[m][0].id);
			}
			plan_release(&plan);
			config_release(&config);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_typed),
		cmocka_unit_test(overrides_win_over_files),
		cmocka_unit_test(wrong_overrides_are_errors),
		cmocka_unit_test(bytes_that_are_no_text_are_refused),
		cmocka_unit_test(over_long_lines_are_refused_and_long_ones_are_not),
		cmocka_unit_test(no_length_is_cut),
		cmocka_unit_test(long_lines_that_are_no_entry_harm_no_other),
		cmocka_unit_test(long_values_come_whole),
		cmocka_unit_test(masses_of_keys_and_sections_end_soon),
		cmocka_unit_test(messages_are_not_cut_within_a_character),
		cmocka_unit_test(section_names_are_not_cut),
		cmocka_unit_test(unreadable_sources_are_errors),
		cmocka_unit_test(many_errors_are_counted),
		cmocka_unit_test(damaged_files_never_crash),
		cmocka_unit_test(every_suite_of_the_program_is_sound),
		cmocka_unit_test(embedded_configs_are_valid_and_can_be_included),
		cmocka_unit_test(quick_plans_its_suites),
	};

	unsetenv("GPUPROOF_TEST_UNSET");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
