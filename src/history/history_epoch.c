#include "history/history_epoch.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "result/anonymise/pseudonym.h"

static void add_line(struct text *out, const char *name, const char *value)
{
	const char *texts[] = { name, "=", value, "\n" };

	/* One fact is one line, whatever is in it. */
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts) - 1; i++)
		for (const char *p = texts[i] ? texts[i] : ""; *p; p++)
			text_add_char(out, (char)(*p == '\n' ? ' ' : *p));
	text_add_char(out, '\n');
}

static void add_device(struct text *out, const struct device_info *d)
{
	char number[64];

	add_line(out, "model", d->name);
	add_line(out, "module", d->module);
	snprintf(number, sizeof(number), "%d", d->ecc);
	add_line(out, "ecc", number);
	snprintf(number, sizeof(number), "%" PRIu64, d->memory_bytes);
	add_line(out, "memory", number);
	snprintf(number, sizeof(number), "%.0f", d->clock_hz);
	add_line(out, "maximum clock", number);
	snprintf(number, sizeof(number), "generation %d, x%d", d->pcie_generation_max,
		 d->pcie_width_max);
	add_line(out, "PCIe", number);
}

/* Settings that affect the measurement; not page titles, not limits. */
static bool matters(const struct result_setting *s)
{
	return s->section && s->key && strcmp(s->section, "report") != 0 &&
	       strncmp(s->section, "limit", 5) != 0 && strcmp(s->key, "label") != 0;
}

static void add_config(struct text *out, const struct result *r)
{
	static const struct pseudonym_key key = { 0, 0 };
	struct text all = TEXT_EMPTY;
	char hash[24];

	for (size_t i = 0; i < r->setting_count; i++)
		if (matters(&r->settings[i]))
			text_addf(&all, "%s\n%s\n%s\n", r->settings[i].section, r->settings[i].key,
				  r->settings[i].value ? r->settings[i].value : "");
	snprintf(hash, sizeof(hash), "%016" PRIx64,
		 pseudonym_hash(&key, all.data ? all.data : "", all.length));
	add_line(out, "config", hash);
	text_release(&all);
}

char *epoch_facts(const struct result *r, const struct device_info *device)
{
	struct text out = TEXT_EMPTY;

	if (device)
		add_device(&out, device);
	for (size_t i = 0; i < r->environment_count; i++)
		if (strcasestr(r->environment[i].name, "driver"))
			add_line(&out, r->environment[i].name, r->environment[i].value);
	add_config(&out, r);
	return text_detach(&out);
}

void epoch_hash(const char *facts, char out[17])
{
	static const struct pseudonym_key key = { 0, 0 };

	snprintf(out, 17, "%016" PRIx64, pseudonym_hash(&key, facts, strlen(facts)));
}

char *night_facts(const struct result *r)
{
	struct text out = TEXT_EMPTY;

	add_line(&out, "gpuproof", r->gpuproof_version);
	for (size_t i = 0; i < r->environment_count; i++)
		add_line(&out, r->environment[i].name, r->environment[i].value);
	return text_detach(&out);
}
