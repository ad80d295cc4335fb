/* A text in all places of a result: names and paths next to it do not survive. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "result/anonymise/anonymise.h"
#include "../fixtures/sample_result.h"

static void put(char **target, char *text)
{
	free(*target);
	*target = text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const secrets[] = { "gollum7", "acme-rack", "8f1c2d3e" };
	struct error err = ERROR_NONE;
	struct anonymiser anonymiser;
	struct result r;
	char *text = xstrndup((const char *)data, size), *json;

	text_mend(text);
	sample_result(&r);
	put(&r.label, xasprintf("%s acme-rack", text));
	put(&r.config_name, xasprintf("%s/acme-rack.ini", text));
	put(&r.config_text,
	    xasprintf("[run]\nlabel = acme-rack %s\n; gollum7\n%s\n[limit acme-rack]\n"
		      "where = size:1, label:acme-rack|gollum7\n",
		      text, text));
	put(&r.cases[0].label, xasprintf("acme-rack%s", text));
	put(&r.cases[0].reason, xasprintf("%s gollum7", text));
	put(&r.cases[0].notes, xasprintf("gollum7%s", text));
	r.settings = xrealloc(r.settings, r.setting_count + 2, sizeof(*r.settings));
	r.settings[r.setting_count++] = (struct result_setting){ xstrdup("run"), xstrdup("devices"),
								 xasprintf("%s /acme-rack/", text),
								 xstrdup("acme-rack.ini:3") };
	r.settings[r.setting_count++] =
		(struct result_setting){ xstrdup("suite transfer acme-rack"), xstrdup("title"),
					 xasprintf("%sgollum7", text), xstrdup("--set") };
	r.environment = xrealloc(r.environment, r.environment_count + 3, sizeof(*r.environment));
	r.environment[r.environment_count++] =
		(struct fact){ xstrdup("hostname"), xasprintf("gollum7%s", text) };
	r.environment[r.environment_count++] =
		(struct fact){ xstrdup("openblas"), xasprintf("%s /acme-rack/lib", text) };
	r.environment[r.environment_count++] =
		(struct fact){ xstrdup("env X"), xasprintf("%s GPU-8f1c2d3e", text) };
	strcpy(r.devices[0].uuid, "GPU-8f1c2d3e");
	if (anonymiser_init(&anonymiser, NULL, &err) != STATUS_OK ||
	    anonymise_result(&anonymiser, &r, &err) != STATUS_OK)
		abort();
	json = result_to_json(&r);
	for (size_t i = 0; i < ARRAY_SIZE(secrets); i++)
		if (strcasestr(json, secrets[i]) && !strcasestr(text, secrets[i]))
			abort();
	free(json);
	free(text);
	result_release(&r);
	return 0;
}
