/* The effective config as INI text. */
#include <string.h>

#include "plan/config.h"
#include "plan/ini/document.h"

static void write_setting(const struct setting *setting, int with_origin, struct text *out)
{
	text_addf(out, "%s =", setting->key->name);
	for (size_t i = 0; i < setting->count; i++) {
		text_add(out, i ? ", " : *setting->values[i].text ? " " : "");
		variables_quote(setting->values[i].text, out);
	}
	if (with_origin)
		text_addf(out, " ; %s", setting->origin);
	text_add_char(out, '\n');
}

static void write_section(const struct section *section, int with_origin, struct text *out)
{
	text_addf(out, "[%s%s%s%s%s]", section->kind, *section->name ? " " : "", section->name,
		  *section->label ? " " : "", section->label);
	if (with_origin)
		text_addf(out, " ; %s", section->origin);
	text_add_char(out, '\n');
	for (size_t i = 0; i < section->count; i++)
		write_setting(&section->settings[i], with_origin, out);
}

void config_write(const struct config *config, int with_origin, struct text *out)
{
	for (size_t i = 0; i < config->count; i++) {
		text_add(out, i ? "\n" : "");
		write_section(&config->sections[i], with_origin, out);
	}
}

void config_write_kind(const struct config *config, const char *kind, struct text *out)
{
	const char *separator = "";

	for (size_t i = 0; i < config->count; i++) {
		if (strcmp(config->sections[i].kind, kind) != 0)
			continue;
		text_add(out, separator);
		write_section(&config->sections[i], 0, out);
		separator = "\n";
	}
}
