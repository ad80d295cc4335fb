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
#include "report/chart/chart.h"
#include "report/claims/claims.h"
#include "report/page/view_sections.h"
#include "report/reference/reference.h"
#include "report/template/template.h"
#include "report/view/memory_limit.h"

/* True if all results are of the same model: then they are compared, else put side by side. */
static bool html_results_share_model(const struct result *results, size_t count)
{
	for (size_t r = 0; r < count; r++)
		if (!results[r].device_count || !results[0].device_count ||
		    strcmp(view_string(results[r].devices[0].name),
			   view_string(results[0].devices[0].name)) != 0)
			return false;
	return true;
}

/* True if the page shows GPUs side by side. Sets the GPUs asked for and the one that is 1x. */
static bool html_wants_architectures(const struct result *results, size_t count,
				     const struct report_options *options, const char **gpus,
				     const char **baseline)
{
	*gpus = options->reference ? options->reference : report_setting(&results[0], "reference");
	*baseline = options->baseline ? options->baseline : report_setting(&results[0], "baseline");
	return **gpus || options->baseline ||
	       (count > 1 && !html_results_share_model(results, count));
}

static bool html_wants_claims(const struct result *results, size_t count,
			      const struct report_options *options)
{
	return !options->no_claims && !options->chart &&
	       (options->claims ||
		(count == 1 && strcmp(report_setting(results, "claims"), "yes") == 0));
}

/* An empty set where no claims are wanted. */
static enum status html_load_claims(struct claim_set *set, const struct result *results,
				    size_t count, const struct report_options *options,
				    struct error *err)
{
	*set = (struct claim_set){ 0 };
	if (!html_wants_claims(results, count, options))
		return STATUS_OK;
	return claims_read_load(set, options->claims && *options->claims ? options->claims : NULL,
				err);
}

/* "report-charts" of /some/where/report.html; "" where charts get no files. */
static char *html_charts_folder(const struct report_options *options)
{
	const char *slash = strrchr(options->output ? options->output : "", '/');
	const char *name = slash ? slash + 1 : options->output;
	const char *dot = name ? strrchr(name, '.') : NULL;

	if (!options->chart_files || !name || html_report_on_stdout(options))
		return xstrdup("");
	return xasprintf("%.*s-charts", (int)(dot && dot > name ? dot - name : (long)strlen(name)),
			 name);
}

/*
 * The words below a chart that is placed elsewhere: machine, day and run; who published it, how.
 * The metadata have the command as well.
 */
static void html_add_sources(const struct view *view, struct text *shown, struct text *origin)
{
	const char *author = report_setting(view->results, "author");
	const char *licence = report_setting(view->results, "licence");

	for (size_t i = 0; i < view->count; i++) {
		const struct result *r = &view->results[i];
		char *citation = view_environment_citation(r);

		text_addf(origin, "%s: %s\n", citation, view_string(r->command));
		text_add(shown, i ? " " : "");
		view_add_devices(shown, r);
		text_addf(shown, ", %s: %s.", format_date(view_string(r->started)).text, citation);
		free(citation);
	}
	if (*author)
		text_addf(shown, " By %s.", author);
	if (*licence)
		text_addf(shown, " Licence: %s.", licence);
}

/* The charts of the page as files, or the one that was asked for into `svg`. */
static enum status html_write_charts(const struct tree *page, const struct view *view,
				     const struct report_options *options, const char *folder,
				     struct text *svg, struct error *err)
{
	char *copy = xstrdup(options->output), *path = xasprintf("%s/%s", dirname(copy), folder);
	struct text origin = TEXT_EMPTY, shown = TEXT_EMPTY;
	struct chart_source source;

	html_add_sources(view, &shown, &origin);
	source = (struct chart_source){ shown.data, origin.data };
	if (options->chart)
		chart_file_render(page, options->chart, &source, options->template_dir, svg, err);
	else
		chart_files_write(page, path, &source, options->template_dir, err);
	text_release(&origin);
	text_release(&shown);
	free(path);
	free(copy);
	return err->status;
}

/* The publisher's own words, from [report]. */
static void html_add_own_words(const struct result *r, struct tree *page)
{
	view_text(page, "author", report_setting(r, "author"));
	view_text(page, "own_note", report_setting(r, "note"));
	view_text(page, "licence", report_setting(r, "licence"));
}

static void html_add_script(const struct report_options *options, struct tree *page)
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
static const char *html_describe_page(const struct tree *page)
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
	html_add_script(options, page);
	view_text(page, "description", html_describe_page(page));
	return template_render(name, options->template_dir, page, html, err);
}

static enum status html_render_architectures(const struct view *view,
					     const struct report_options *options, const char *gpus,
					     const char *baseline, struct text *html,
					     struct error *err)
{
	struct tree *page = tree_new(TREE_MAP);
	struct report_reference reference;
	struct view_counts n;
	enum status status = report_reference_collect(&reference, view, gpus, baseline, err);

	if (status == STATUS_OK) {
		struct architectures *a = xmalloc(sizeof(*a));
		char *title;

		view_count(view, &n);
		/* Titles and members of a page about architectures. */
		architectures_collect(a, &reference);
		title = architecture_page_title(a);
		view_text(page, "title", options->title ? options->title : title);
		free(title);
		architectures_page(a, page);
		view_reference(&reference, page);
		tree_flag(page, "published_there", tree_member(page, "published")->count != 0);
		tree_text(page, "run_page", options->run_page ? options->run_page : "");
		free(a);
		view_environment_runs(view, page);
		view_verdict(view, page);
		view_warnings(view, page);
		view_warnings_launches(view, page);
		view_environment(view, page);
		html_add_own_words(view->results, page);
		tree_flag(page, "has_bad", n.of[CASE_FAILED] || n.of[CASE_ERROR]);
		tree_text(page, "acceptance_page", "");
		status = html_render("architectures", options, page, html, err);
	}
	report_reference_release(&reference);
	tree_free(page);
	return status;
}

static enum status html_render_results(struct view *view, const struct claim_set *claims,
				       const struct report_options *options, struct text *html,
				       struct error *err)
{
	struct tree *page = view_page(view, claims, options->title);
	char *folder = html_charts_folder(options);
	enum status status;

	tree_text(page, "acceptance_page",
		  options->acceptance_page ? options->acceptance_page : "");
	tree_text(page, "charts_folder", folder);
	tree_text(page, "run_page", options->run_page ? options->run_page : "");
	html_add_own_words(view->results, page);
	status = options->chart ? STATUS_OK
				: html_render(claims->count     ? "claims"
					      : view->count > 1 ? "compare"
								: "run",
					      options, page, html, err);
	if (status == STATUS_OK && (*folder || options->chart))
		status = html_write_charts(page, view, options, folder, html, err);
	free(folder);
	tree_free(page);
	return status;
}

enum status html_render_report(const struct result *results, size_t count,
			       const struct report_options *options, struct text *html,
			       struct error *err)
{
	struct memory_limit limits[LIMITS_MOST];
	struct claim_set claims;
	struct view view;
	const char *gpus, *baseline;
	enum status status;
	size_t limit_count;

	if (!count)
		return error_set(err, STATUS_USAGE, "a report needs at least one result");
	if (memory_limits_parse(options->memory_limits
					? options->memory_limits
					: report_setting(&results[0], "memory_limits"),
				limits, &limit_count, err) != STATUS_OK)
		return err->status;
	if (html_load_claims(&claims, results, count, options, err) != STATUS_OK)
		return err->status;
	view_init(&view, results, count);
	view.names = options->names;
	view.memory_limits = limits;
	view.memory_limit_count = limit_count;
	if (!claims.count && !options->chart &&
	    html_wants_architectures(results, count, options, &gpus, &baseline))
		status = html_render_architectures(&view, options, gpus, baseline, html, err);
	else
		status = html_render_results(&view, &claims, options, html, err);
	claims_read_release(&claims);
	view_release(&view);
	return status;
}

static enum status html_write_css(const struct report_options *options, struct error *err)
{
	char *copy = xstrdup(options->output), *css = NULL;
	char *path = xasprintf("%s/" REPORT_STYLE_FILE, dirname(copy));
	size_t length;

	if (template_file(REPORT_STYLE_FILE, options->template_dir, &css, &length, err) ==
	    STATUS_OK)
		file_publish(path, css, length, err);
	free(css);
	free(path);
	free(copy);
	return err->status;
}

bool html_report_on_stdout(const struct report_options *options)
{
	return strcmp(options->output, "-") == 0;
}

enum status html_publish(const struct report_options *options, struct text *html, struct error *err)
{
	bool out = html_report_on_stdout(options);

	if (err->status == STATUS_OK && out && options->separate_css)
		error_set(err, STATUS_USAGE,
			  "--layout=dir needs a directory for the style sheet, but the output is "
			  "standard output");
	if (err->status == STATUS_OK && options->separate_css)
		html_write_css(options, err);
	if (err->status == STATUS_OK && !out)
		file_publish(options->output, html->data, html->length, err);
	else if (err->status == STATUS_OK &&
		 (fwrite(html->data, 1, html->length, stdout) != html->length ||
		  fflush(stdout) != 0))
		error_errno(err, "standard output");
	text_release(html);
	return err->status;
}

enum status html_write(const char *name, const struct report_options *options, struct tree *page,
		       struct error *err)
{
	struct text html = TEXT_EMPTY;

	if (err->status == STATUS_OK)
		html_render(name, options, page, &html, err);
	tree_free(page);
	return html_publish(options, &html, err);
}

static enum status html_write_one(const struct result *results, size_t count,
				  const struct report_options *options, struct error *err)
{
	struct text html = TEXT_EMPTY;

	html_render_report(results, count, options, &html, err);
	return html_publish(options, &html, err);
}

/* "page-run.html" of "page.html". malloc'ed. */
static char *html_run_page_of(const char *output)
{
	const char *slash = strrchr(output, '/'), *dot = strrchr(output, '.');
	size_t stem = dot && (!slash || dot > slash + 1) ? (size_t)(dot - output) : strlen(output);

	return xasprintf("%.*s-run%s", (int)stem, output, output + stem);
}

/* A page about architectures or claims, and the page of its run next to it. */
static enum status html_write_with_run(const struct result *result,
				       const struct report_options *options, struct error *err)
{
	char *path = html_run_page_of(options->output);
	const char *slash = strrchr(path, '/');
	struct report_options run = *options, page = *options;

	run.output = path;
	run.reference = "";
	run.claims = NULL;
	run.no_claims = true;
	run.baseline = NULL;
	run.title = NULL;
	page.run_page = slash ? slash + 1 : path;
	if (html_write_one(result, 1, &run, err) == STATUS_OK)
		html_write_one(result, 1, &page, err);
	free(path);
	return err->status;
}

enum status html_write_report(const struct result *results, size_t count,
			      const struct report_options *options, struct error *err)
{
	const char *gpus, *baseline;

	if (count == 1 && !html_report_on_stdout(options) && !options->chart &&
	    (html_wants_claims(results, count, options) ||
	     html_wants_architectures(results, count, options, &gpus, &baseline)))
		return html_write_with_run(results, options, err);
	return html_write_one(results, count, options, err);
}

/* True if `path` exists and differs from `file`. */
static bool html_was_edited(const char *path, const struct embedded_file *file)
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

static enum status html_refuse_edited(const char *directory, struct error *err)
{
	struct text names = TEXT_EMPTY;
	size_t count = 0;

	for (const struct embedded_file *f = embedded_templates; f->name; f++) {
		char *path = xasprintf("%s/%s", directory, f->name);

		if (html_was_edited(path, f) && count++ < 5)
			text_addf(&names, "%s%s", count > 1 ? ", " : "", f->name);
		free(path);
	}
	if (count)
		error_set(err, STATUS_USAGE,
			  "%s has templates that differ from the built-in ones: %s%s. Nothing was "
			  "written: choose another directory, or overwrite the templates with "
			  "--force",
			  directory, names.data, count > 5 ? ", ..." : "");
	text_release(&names);
	return err->status;
}

enum status html_dump_templates(const char *directory, bool force, struct error *err)
{
	if (mkdir(directory, 0777) != 0 && errno != EEXIST)
		return error_errno(err, "%s", directory);
	if (!force && html_refuse_edited(directory, err) != STATUS_OK)
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
