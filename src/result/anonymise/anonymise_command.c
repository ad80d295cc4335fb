#include "result/anonymise/anonymise_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/memory.h"
#include "base/text.h"

bool anonymise_shipped(const char *name)
{
	const bool limits = text_starts_with(name, "limits/");
	const char *base = limits ? name + strlen("limits/") : name;
	char *file = xasprintf("%s%s", base, text_ends_with(base, ".ini") ? "" : ".ini");
	bool found = embedded_find(embedded_limits, file) ||
		     (!limits && embedded_find(embedded_configs, file));

	free(file);
	return found;
}

bool anonymise_shipped_place(const char *origin)
{
	char *file = xstrndup(origin, strcspn(origin, ":"));
	bool shipped = anonymise_shipped(file);

	free(file);
	return shipped;
}

/* "3", "0.5%", "2,4", "cuda:0" */
static bool tells_nothing(const char *word)
{
	static const char *const backends[] = { "cuda", "host", "fake" };

	for (size_t i = 0; i < ARRAY_SIZE(backends); i++)
		if (text_starts_with(word, backends[i]) &&
		    (!word[strlen(backends[i])] || word[strlen(backends[i])] == ':'))
			return true;
	return !word[strspn(word, "0123456789.,%")] || anonymise_shipped(word);
}

/* `option`: the one whose value the word is, "--label"; "". */
static void add_word(struct text *out, const struct anonymiser *a, const char *option, const char *word)
{
	bool name = text_starts_with(option, "--") && anonymise_is_free_text(option + 2);
	/* A number may be a serial number all the same: that was learned. */
	char *text = name && anonymise_is_number(word) ? pseudonym(a, "label", word, strlen(word)) :
		     tells_nothing(word)	       ? anonymise_text(a, word) :
							 pseudonym(a, "word", word, strlen(word));

	text_add(out, text);
	free(text);
}

char *anonymise_command(const struct anonymiser *a, const char *command)
{
	char *copy = xstrdup(command ? command : ""), *rest = copy, *word, *option = xstrdup("");
	struct text out = TEXT_EMPTY;

	for (size_t i = 0; (word = strsep(&rest, " ")); i++) {
		size_t keep = 0;

		if (i)
			text_add_char(&out, ' ');
		if (i == 0 && strcmp(word, "gpuproof") == 0)
			keep = strlen(word);
		else if (i == 1 && strcmp(word, "run") == 0)
			keep = strlen(word);
		else if (text_starts_with(word, "--"))
			keep = strcspn(word, "=") + (strchr(word, '=') != NULL);
		else if (*word == '-' && word[1])
			keep = 2;
		text_add_bytes(&out, word, keep);
		if (keep && i > 1) {
			free(option);
			option = xstrndup(word, strcspn(word, "="));
		}
		if (word[keep])
			add_word(&out, a, option, word + keep);
	}
	free(option);
	free(copy);
	return text_detach(&out);
}
