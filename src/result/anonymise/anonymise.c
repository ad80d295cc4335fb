#include "result/anonymise/anonymise.h"

#include <inttypes.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/embedded.h"
#include "base/input.h"
#include "base/memory.h"
#include "base/text.h"
#include "result/reasons/reasons.h"
#include "result/result_fields.h"
#include "result/verdict.h"

/* Only the first bytes of a longer key are used. */
#define LEAST_KEY_BYTES 16
#define KEY_BYTES 4096
#define MOST_KEY_BYTES ((size_t)1 << 20)
/* Longer than any value that the program writes; a longer value is left out. */
#define LONGEST_VALUE 4096
#define OPTION_LETTERS "abcdefghijklmnopqrstuvwxyz-"

const char anonymise_facts[] =
	"os; kernel; cpu; cpu governor; cpu sockets; cpu cores; cpu threads; cpu threads usable; "
	"numa nodes; memory; transparent huge pages; hypervisor; container; iommu; gpuproof; "
	"compiler; usable cores; usable memory; openblas; openblas kernels; hwloc; driver; "
	"cuda_driver; cuda_runtime; cublas; nccl; cuda runtime; provenance";

const char anonymise_named_keys[] = "label, tags, title, author, note, licence, origin, command, "
				    "directory, environment, output, library, regex, json, "
				    "expect, sha256, only, nodes, interface";

bool anonymise_listed(const char *list, const char *name)
{
	const size_t length = strlen(name);

	while (*list) {
		size_t n = strcspn(list, ",;");

		if (n == length && memcmp(list, name, n) == 0)
			return true;
		list += n + strspn(list + n, ",; ");
	}
	return false;
}

static enum status anonymise_read_key(struct siphash_key *key, const char *path, struct error *err)
{
	/* Two keys give two independent 64-bit halves. */
	static const struct siphash_key first = { 0, 1 }, second = { 0, 2 };
	struct text bytes = TEXT_EMPTY;
	size_t n;

	if (input_read_file(path, "key", MOST_KEY_BYTES, &bytes, err) != STATUS_OK) {
		text_release(&bytes);
		return err->status;
	}
	n = bytes.length < KEY_BYTES ? bytes.length : KEY_BYTES;
	if (n < LEAST_KEY_BYTES)
		error_set(err, STATUS_USAGE, "%s: a key needs at least %d bytes; the file has %zu",
			  path, LEAST_KEY_BYTES, n);
	else
		*key = (struct siphash_key){ siphash(&first, bytes.data, n),
					     siphash(&second, bytes.data, n) };
	text_release(&bytes);
	return err->status;
}

enum status anonymiser_init(struct anonymiser *a, const char *key_file, struct error *err)
{
	if (key_file)
		return anonymise_read_key(&a->key, key_file, err);
	if (getrandom(&a->key, sizeof(a->key), 0) != (ssize_t)sizeof(a->key))
		return error_errno(err, "cannot create a random key");
	return STATUS_OK;
}

static char *anonymise_pseudonym(const struct anonymiser *a, const char *kind, const char *name)
{
	if (!*name)
		return xstrdup("");
	return xasprintf("%s-%012" PRIx64, kind, siphash(&a->key, name, strlen(name)) >> 16);
}

/* True unless it looks like a path, a user, a UUID, or an IP or PCI address. */
static bool anonymise_is_plain(const char *text)
{
	static const char pattern[] =
		"(^|[^[:alnum:]])/|~[[:alpha:]]|/[^[:space:]/]*/|-[A-Z]/|@|\\\\|"
		"(GPU|MIG)-[[:xdigit:]]{2,}([^[:alnum:]]|$)|[[:xdigit:]]{8}-[[:xdigit:]]|"
		"([[:xdigit:]]{2}-){5}|::|:[[:xdigit:]]*:|[[:xdigit:]]{2}:[[:xdigit:]]{2}|"
		"([0-9]{1,3}\\.){3}[0-9]";
	regex_t regex;
	bool plain;

	if (strlen(text) > LONGEST_VALUE)
		return false;
	if (regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) != 0)
		abort();
	plain = regexec(&regex, text, 0, NULL, 0) != 0;
	regfree(&regex);
	return plain;
}

/* True if a line of a shipped config or of shipped limits begins and ends this way. */
static bool anonymise_is_shipped_line(const char *begin, const char *end)
{
	const struct embedded_file *const tables[] = { embedded_configs, embedded_limits };
	const size_t length = strlen(begin), tail = strlen(end);

	for (size_t t = 0; t < ARRAY_SIZE(tables); t++)
		for (const struct embedded_file *f = tables[t]; f->name; f++)
			for (const char *line = (const char *)f->data; *line;) {
				size_t n = strcspn(line, "\n");

				if (n >= length + tail && memcmp(line, begin, length) == 0 &&
				    memcmp(line + n - tail, end, tail) == 0)
					return true;
				line += n + (line[n] == '\n');
			}
	return false;
}

/* Label of a suite section, or name of a limit: kept if a shipped config has it. */
static char *anonymise_rewrite_label(const struct anonymiser *a, const char *kind,
				     const char *label)
{
	bool limit = strcmp(kind, "limit") == 0;
	char *begin = xasprintf(limit ? "[limit %s]" : "[suite ", label);
	char *end = xasprintf(limit ? "" : " %s]", label);
	bool kept = (limit && strcmp(label, "run") == 0) || anonymise_is_shipped_line(begin, end);

	free(begin);
	free(end);
	return kept ? xstrdup(label) : anonymise_pseudonym(a, kind, label);
}

/* Name of a config, of limits, or a place: "quick", "limits/h200.ini:12", "--set", "default". */
static char *anonymise_rewrite_file(const struct anonymiser *a, const char *place)
{
	const char *colon = strrchr(place, ':');
	const char *end = strchr(place, '\0');
	bool numbered = colon && colon + 1 + strspn(colon + 1, "0123456789") == end;
	const char *line = numbered ? colon : end;
	bool limits = text_starts_with(place, "limits/");
	char *file = xstrndup(place, (size_t)(line - place));
	char *base = xasprintf("%s%s", file + (limits ? strlen("limits/") : 0),
			       text_ends_with(file, ".ini") ? "" : ".ini");
	/* "--set", without its value */
	bool option = text_starts_with(place, "--") && !place[strspn(place, OPTION_LETTERS)];
	bool kept = strcmp(place, "default") == 0 || option ||
		    embedded_find(embedded_limits, base) ||
		    (!limits && embedded_find(embedded_configs, base));
	char *word = kept ? xstrdup(file) : anonymise_pseudonym(a, "file", file);
	char *out = xasprintf("%s%s", word, line);

	free(word);
	free(base);
	free(file);
	return out;
}

/* "suite transfer big", "limit tight" */
static char *anonymise_rewrite_section(const struct anonymiser *a, const char *section)
{
	const char *label = text_starts_with(section, "suite ") ? strchr(section + 6, ' ') : NULL;
	bool limit = text_starts_with(section, "limit ");
	const char *name = limit ? section + 6 : label ? label + 1 : strchr(section, '\0');
	char *word = anonymise_rewrite_label(a, limit ? "limit" : "label", name);
	char *out = xasprintf("%.*s%s", (int)(name - section), section, word);

	free(word);
	return out;
}

/* "label:big|small, size:64MiB": with its labels replaced. */
static char *anonymise_rewrite_where(const struct anonymiser *a, const char *where)
{
	struct text out = TEXT_EMPTY;
	bool labels = false;

	while (*where) {
		size_t n = strcspn(where, ",|:");
		char *part = text_trimmed(where, n);
		char *word =
			labels ? anonymise_rewrite_label(a, "label", part) : xstrndup(where, n);

		text_add(&out, word);
		labels =
			where[n] == ':' ? text_ends_with(part, "label") : labels && where[n] == '|';
		free(word);
		free(part);
		where += n;
		if (*where)
			text_add_char(&out, *where++);
	}
	return text_detach(&out);
}

static char *anonymise_rewrite_value(const struct anonymiser *a, const char *key, const char *value)
{
	char *line = xasprintf("%s = %s", key, value), *known;

	if (anonymise_is_shipped_line(line, "")) {
		known = xstrdup(value);
	} else if (anonymise_listed(anonymise_named_keys, key)) {
		known = anonymise_pseudonym(a, key, value);
	} else {
		known = strcmp(key, "where") == 0 ? anonymise_rewrite_where(a, value)
						  : xstrdup(value);
		if (!anonymise_is_plain(known)) {
			free(known);
			known = anonymise_pseudonym(a, "value", value);
		}
	}
	free(line);
	return known;
}

/* Keeps sections and settings of an INI file; leaves out everything else, including comments. */
static char *anonymise_rewrite_ini(const struct anonymiser *a, const char *text)
{
	struct text out = TEXT_EMPTY;

	for (size_t n; *text; text += n + (text[n] == '\n')) {
		char *line, *key, *value, *word = NULL;
		size_t equals;

		n = strcspn(text, "\n");
		line = text_trimmed(text, n);
		equals = strcspn(line, "=");
		key = text_trimmed(line, equals);
		value = text_trimmed(line + equals, strlen(line + equals));
		if (*line == '[' && text_ends_with(line, "]")) {
			line[strlen(line) - 1] = '\0';
			word = anonymise_rewrite_section(a, line + 1);
			text_addf(&out, "[%s]\n", word);
		} else if (*value && !strchr(";#", *line)) {
			char *bare = text_trimmed(value + 1, strlen(value + 1));

			word = anonymise_rewrite_value(a, key, bare);
			text_addf(&out, "%s =%s%s\n", key, *word ? " " : "", word);
			free(bare);
		} else if (!*line) {
			text_add_char(&out, '\n');
		}
		free(word);
		free(value);
		free(key);
		free(line);
	}
	return text_detach(&out);
}

/* "transfer:big/h2d/64MiB@cuda:0" */
static char *anonymise_rewrite_case(const struct anonymiser *a, const char *id)
{
	size_t suite = strcspn(id, ":/@");
	size_t length = id[suite] == ':' ? strcspn(id + suite + 1, "/@") : 0;
	char *label = xstrndup(id + suite + (length > 0), length);
	char *word = anonymise_rewrite_label(a, "label", label);
	char *out = xasprintf("%.*s%s%s", (int)(suite + (length > 0)), id, word,
			      id + suite + (length > 0) + length);

	free(word);
	free(label);
	return out;
}

/* NULL: the fact is left out. */
static char *anonymise_rewrite_fact(const struct anonymiser *a, const char *name, const char *value)
{
	const bool variable = text_starts_with(name, "env ");

	if (strcmp(name, "hostname") == 0)
		return anonymise_pseudonym(a, "host", value);
	if (strcasestr(name, "serial"))
		return anonymise_pseudonym(a, "serial", value);
	if (!variable && !anonymise_listed(anonymise_facts, name))
		return NULL;
	/* A version may have four parts, like an address. */
	if (anonymise_is_plain(value) || (!variable && !value[strspn(value, "0123456789.")]))
		return xstrdup(value);
	return variable ? anonymise_pseudonym(a, "env", value) : xstrdup(ANONYMISE_LEFT_OUT);
}

/* The caller frees it. `base`: the struct that the text is a member of. */
static char *anonymise_rewrite_text(const struct anonymiser *a, const struct field *f,
				    const void *base, const char *text)
{
	const struct result_setting *setting = base;

	if (!*text)
		return xstrdup("");
	switch (f->publish) {
	case PUBLISH_UNDECIDED:
	case PUBLISH_DROP:
		return xstrdup("");
	case PUBLISH_LEFT_OUT:
		return xstrdup(ANONYMISE_LEFT_OUT);
	case PUBLISH_KEEP:
	case PUBLISH_FACT: /* rewritten with its name before */
		return xstrdup(text);
	case PUBLISH_NAME:
		return anonymise_pseudonym(a, f->kind, text);
	case PUBLISH_PLAIN:
		return xstrdup(anonymise_is_plain(text) ? text : ANONYMISE_LEFT_OUT);
	case PUBLISH_LABEL:
		return anonymise_rewrite_label(a, f->kind, text);
	case PUBLISH_CASE:
		return anonymise_rewrite_case(a, text);
	case PUBLISH_FILE:
		return anonymise_rewrite_file(a, text);
	case PUBLISH_SECTION:
		return anonymise_rewrite_section(a, text);
	case PUBLISH_VALUE:
		return anonymise_rewrite_value(a, setting->key, text);
	case PUBLISH_INI:
		return anonymise_rewrite_ini(a, text);
	}
	return xstrdup("");
}

static void anonymise_rewrite_string(const struct anonymiser *a, const struct field *f,
				     const void *base, char **text)
{
	char *rewritten = anonymise_rewrite_text(a, f, base, *text ? *text : "");

	memory_shared_text_free(*text);
	*text = rewritten;
}

/*
 * Rewrites the strings of a struct and of all below it. Parameters of cases and presentations,
 * which have codecs of their own, are the program's.
 */
static void anonymise_rewrite_members(const struct anonymiser *a, const struct field *fields,
				      void *base)
{
	for (const struct field *f = fields; f->name; f++) {
		char *at = (char *)base + f->offset, **items = (char **)(void *)at, *text;
		size_t count = 1;

		if (f->count_offset)
			count = *(size_t *)(void *)((char *)base + f->count_offset);
		if (f->codec == &codec_string) {
			anonymise_rewrite_string(a, f, base, items);
		} else if (f->codec == &codec_chars) {
			text = anonymise_rewrite_text(a, f, base, at);
			snprintf(at, f->size, "%s", text);
			free(text);
		} else if (f->codec == &codec_strings) {
			for (size_t i = 0; i < count; i++)
				anonymise_rewrite_string(a, f, base, &((char **)(void *)*items)[i]);
		} else if (f->codec == &codec_object) {
			anonymise_rewrite_members(a, f->fields, at);
		} else if (f->fields && f->codec != &codec_rows && *items) {
			for (size_t i = 0; i < count; i++)
				anonymise_rewrite_members(a, f->fields,
							  *items + i * f->element_size);
		}
	}
}

/* Derives sentences from the remaining members. */
static void anonymise_rewrite_sentences(struct result *r)
{
	struct verdicts *v = r->judgement;
	struct text sentence = TEXT_EMPTY;

	if (*r->config_name) {
		free(r->command);
		r->command = xasprintf("gpuproof run %s", r->config_name);
	}
	if (!v)
		return;
	reasons_verdicts_explain(v);
	free(v->sentence);
	text_addf(&sentence, "%s: %zu of %zu checks passed.", verdicts_word(v),
		  v->counts[VERDICT_PASS], v->count);
	reasons_add_worst(v, &sentence);
	v->sentence = text_detach(&sentence);
}

enum status anonymise_result(const struct anonymiser *a, struct result *r, struct error *err)
{
	size_t kept = 0;

	/* Ids of devices and cases are kept, but in a multi-node run they contain node names. */
	if (r->node_count)
		return error_set(err, STATUS_UNSUPPORTED,
				 "a multi-node result cannot be anonymised, because its ids "
				 "contain node names; anonymise each result in nodes/ instead");
	for (size_t i = 0; i < r->environment_count; i++) {
		struct fact *fact = &r->environment[i];
		char *value = anonymise_rewrite_fact(a, fact->name, fact->value);

		free(fact->value);
		fact->value = value;
		if (value)
			r->environment[kept++] = *fact;
		else
			free(fact->name);
	}
	r->environment_count = kept;
	anonymise_rewrite_members(a, result_fields, r);
	anonymise_rewrite_sentences(r);
	return STATUS_OK;
}
