#include "report/page/html.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/embedded.h"
#include "base/file.h"
#include "base/input.h"
#include "base/memory.h"
#include "report/chart/chart_files.h"
#include "report/claims/claims_read.h"
#include "report/page/settings.h"
#include "report/reference/reference.h"
#include "report/strategies/strategies_limit.h"
#include "report/template/template.h"
#include "report/view/view.h"

/* Leaves `reference` empty and `wanted` false where no other GPUs are asked for. */
static enum status collect_reference(const struct view *view, const struct report_options *options,
				     struct report_reference *reference, bool *wanted,
				     struct error *err)
{
	const char *gpus = options->reference ? options->reference
					      : report_setting(&view->results[0], "reference");
	const char *baseline = options->baseline ? options->baseline
						 : report_setting(&view->results[0], "baseline");

	*reference = (struct report_reference){ 0 };
	*wanted = *gpus || options->baseline;
	return *wanted ? reference_collect(reference, view, gpus, baseline, err) : STATUS_OK;
}

/* malloc'ed; NULL: the page has that of its results. */
static char *title_of(const struct view *view, const struct report_options *options,
		      const struct report_reference *reference)
{
	if (options->title)
		return xstrdup(options->title);
	if (view->count > 1 || *report_setting(&view->results[0], "title"))
		return NULL;
	return reference_title(reference);
}

/* An empty set where no claims are wanted. */
static enum status load_claims(struct claim_set *set, const struct result *first,
			       const struct report_options *options, struct error *err)
{
	*set = (struct claim_set){ 0 };
	if (!options->claims && strcmp(report_setting(first, "claims"), "yes") != 0)
		return STATUS_OK;
	return claims_load(set, options->claims && *options->claims ? options->claims : NULL, err);
}

/* "report-charts" of /some/where/report.html; "" where charts get no files. */
static char *charts_folder(const struct report_options *options)
{
	const char *slash = strrchr(options->output ? options->output : "", '/');
	const char *name = slash ? slash + 1 : options->output;
	const char *dot = name ? strrchr(name, '.') : NULL;

	if (!options->chart_files || !name || report_on_stdout(options))
		return xstrdup("");
	return xasprintf("%.*s-charts", (int)(dot && dot > name ? dot - name : (long)strlen(name)),
			 name);
}

/* The source of a chart in a line: version, run, configuration, command. */
static void add_origin(struct text *out, const struct result *r)
{
	char *citation = view_citation(r);

	text_addf(out, "%s: %s\n", citation, view_string(r->command));
	free(citation);
}

static enum status write_charts(const struct tree *page, const struct result *results, size_t count,
				const struct report_options *options, const char *folder,
				struct error *err)
{
	char *copy = xstrdup(options->output), *path = xasprintf("%s/%s", dirname(copy), folder);
	struct text origin = TEXT_EMPTY;
	enum status status;

	for (size_t i = 0; i < count; i++)
		add_origin(&origin, &results[i]);
	status = chart_files_write(page, path, origin.data, options->template_dir, err);
	text_release(&origin);
	free(path);
	free(copy);
	return status;
}

static void add_script(const struct report_options *options, struct tree *page)
{
	const struct embedded_file *script = embedded_find(embedded_script, "report.js");
	const struct embedded_file *hash = embedded_find(embedded_script, "report.js.sha256");

	if (options->no_script) {
		tree_text(page, "script", "");
		tree_text(page, "script_hash", "");
		return;
	}
	tree_textf(page, "script", "%.*s", (int)script->size, (const char *)script->data);
	tree_textf(page, "script_hash", "%.*s", (int)hash->size, (const char *)hash->data);
}

/* The page's answer in a sentence, for search engines and previews of links; "": none. */
static const char *describe_page(const struct tree *page)
{
	const struct tree *changes = tree_member(page, "changes");
	const char *const answers[] = {
		tree_member_text(page, "lead"),
		tree_member_text(changes && changes->count ? changes->children[0] : NULL,
				 "sentence"),
		tree_member_text(page, "judgement"), tree_member_text(page, "verdict")
	};

	for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++)
		if (*answers[i])
			return answers[i];
	return "";
}

enum status html_render(const char *name, const struct report_options *options, struct tree *page,
			struct text *html, struct error *err)
{
	size_t length;
	char *css;

	if (template_file(REPORT_STYLE_FILE, options->template_dir, &css, &length, err) !=
	    STATUS_OK)
		return err->status;
	tree_text_owned(page, "css", css);
	tree_flag(page, "linked", options->separate_css);
	add_script(options, page);
	view_text(page, "description", describe_page(page));
	return template_render(name, options->template_dir, page, html, err);
}

enum status report_render(const struct result *results, size_t count,
			  const struct report_options *options, struct text *html,
			  struct error *err)
{
	struct memory_limit limits[LIMITS_MOST];
	struct claim_set claims;
	struct tree *page;
	struct view view;
	struct report_reference reference;
	enum status status;
	char *folder, *title;
	size_t limit_count;
	bool wanted;

	if (!count)
		return error_set(err, STATUS_USAGE, "a report needs at least one result");
	if (memory_limits_parse(options->memory_limits
					? options->memory_limits
					: report_setting(&results[0], "memory_limits"),
				limits, &limit_count, err) != STATUS_OK)
		return err->status;
	if (load_claims(&claims, &results[0], options, err) != STATUS_OK)
		return err->status;
	view_init(&view, results, count);
	view.names = options->names;
	view.memory_limits = limits;
	view.memory_limit_count = limit_count;
	status = collect_reference(&view, options, &reference, &wanted, err);
	title = title_of(&view, options, &reference);
	page = view_page(&view, title);
	free(title);
	tree_text(page, "acceptance_page",
		  options->acceptance_page ? options->acceptance_page : "");
	folder = charts_folder(options);
	tree_text(page, "charts_folder", folder);
	view_claims(&view, &claims, page);
	claims_release(&claims);
	tree_flag(page, "has_reference", wanted);
	if (status == STATUS_OK && wanted)
		view_reference(&reference, page);
	reference_release(&reference);
	if (status == STATUS_OK)
		status = html_render(count > 1 ? "compare" : "run", options, page, html, err);
	if (status == STATUS_OK && *folder)
		status = write_charts(page, results, count, options, folder, err);
	free(folder);
	tree_free(page);
	view_release(&view);
	return status;
}

static enum status write_css(const struct report_options *options, struct error *err)
{
	char *copy = xstrdup(options->output), *path = NULL, *css = NULL;
	size_t length;
	enum status status =
		template_file(REPORT_STYLE_FILE, options->template_dir, &css, &length, err);

	if (status == STATUS_OK) {
		path = xasprintf("%s/" REPORT_STYLE_FILE, dirname(copy));
		status = file_publish(path, css, length, err);
	}
	free(css);
	free(path);
	free(copy);
	return status;
}

static enum status print_page(const struct report_options *options, const struct text *html,
			      struct error *err)
{
	if (options->separate_css)
		return error_set(err, STATUS_USAGE,
				 "a style sheet next to the page needs a directory, which standard "
				 "output is not");
	if (fwrite(html->data, 1, html->length, stdout) != html->length || fflush(stdout) != 0)
		return error_errno(err, "standard output");
	return STATUS_OK;
}

bool report_on_stdout(const struct report_options *options)
{
	return strcmp(options->output, "-") == 0;
}

enum status html_publish(const struct report_options *options, const struct text *html,
			 struct error *err)
{
	if (report_on_stdout(options))
		return print_page(options, html, err);
	if (options->separate_css && write_css(options, err) != STATUS_OK)
		return err->status;
	return file_publish(options->output, html->data, html->length, err);
}

enum status report_write(const struct result *results, size_t count,
			 const struct report_options *options, struct error *err)
{
	struct text html = TEXT_EMPTY;
	enum status status = report_render(results, count, options, &html, err);

	if (status == STATUS_OK)
		status = html_publish(options, &html, err);
	text_release(&html);
	return status;
}

/* True if `path` exists and differs from `file`. */
static bool was_edited(const char *path, const struct embedded_file *file)
{
	struct text there = TEXT_EMPTY;
	struct error unread = ERROR_NONE;
	struct stat about;
	bool edited;

	if (lstat(path, &about) != 0)
		return false;
	edited = input_read_file(path, "template", TEMPLATE_MOST_BYTES, &there, &unread) !=
			 STATUS_OK ||
		 there.length != file->size ||
		 (file->size && memcmp(there.data, file->data, file->size) != 0);
	text_release(&there);
	return edited;
}

static enum status refuse_edited(const char *directory, struct error *err)
{
	struct text names = TEXT_EMPTY;
	size_t count = 0;

	for (const struct embedded_file *f = embedded_templates; f->name; f++) {
		char *path = xasprintf("%s/%s", directory, f->name);

		if (was_edited(path, f) && count++ < 5)
			text_addf(&names, "%s%s", count > 1 ? ", " : "", f->name);
		free(path);
	}
	if (count)
		error_set(err, STATUS_USAGE,
			  "%s holds templates that differ from the built-in ones: %s%s; nothing is "
			  "written: choose another directory, or --force overwrites them",
			  directory, names.data, count > 5 ? ", ..." : "");
	text_release(&names);
	return err->status;
}

enum status report_dump_templates(const char *directory, bool force, struct error *err)
{
	if (mkdir(directory, 0777) != 0 && errno != EEXIST)
		return error_errno(err, "%s", directory);
	if (!force && refuse_edited(directory, err) != STATUS_OK)
		return err->status;
	for (const struct embedded_file *f = embedded_templates; f->name; f++) {
		char *path = xasprintf("%s/%s", directory, f->name);
		enum status status = file_write(path, (const char *)f->data, f->size, err);

		free(path);
		if (status != STATUS_OK)
			return status;
	}
	return STATUS_OK;
}
