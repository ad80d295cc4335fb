// Run by ci/check-report: opens each page in Chromium. Arguments: the folder with node_modules, then pages.
'use strict';
const fs = require('fs');
const http = require('http');
const path = require('path');

const [tools, ...pages] = process.argv.slice(2);
const { chromium } = require(path.join(path.resolve(tools), 'node_modules/playwright-core'));
const axe = fs.readFileSync(path.join(tools, 'node_modules/axe-core/axe.min.js'), 'utf8');
const out = process.env.OUT;
const jenkins = "sandbox allow-same-origin; default-src 'none'; img-src 'self'; style-src 'self';";
const css = fs.readFileSync(path.join(__dirname, '../report-templates/report.css'));
// A page with thousands of elements takes long to audit on a machine that others use as well.
const patience = 300000;
let failures = 0;

function fail(page, what) {
	failures++;
	console.log(`${page}: ${what}`);
}

async function contextOf(browser, options) {
	const context = await browser.newContext(options);

	context.setDefaultTimeout(patience);
	context.setDefaultNavigationTimeout(patience);
	return context;
}

// Headless browsers may lay out wider than the window that was asked for.
async function isAsWide(page, file, width) {
	const laidOut = await page.evaluate(() => window.innerWidth);

	if (laidOut !== width)
		fail(file, `${width} px: laid out at ${laidOut} px, so this width was not looked at`);
}

async function audit(browser, file, width, colorScheme, open) {
	// axe has to run inside the page, which its own policy forbids.
	const context = await contextOf(browser, { viewport: { width, height: 900 }, colorScheme, bypassCSP: true });
	const page = await context.newPage();

	await page.goto('file://' + path.resolve(file));
	if (open)
		await page.evaluate(() => document.querySelectorAll('details').forEach((d) => { d.open = true; }));
	// It can't tell a contrast upon a gradient; tests/unit/report/test_colours.c looks at that one.
	await page.addStyleTag({ content: '.wide, .chart, .trend { background: none !important; }' });
	await page.addScriptTag({ content: axe });
	const result = await page.evaluate(() => axe.run());
	for (const v of result.violations)
		fail(file, `${width} px, ${colorScheme}: ${v.id}: ${v.help} (${v.nodes.length}x), first: ${v.nodes[0].html.slice(0, 160)}`);
	for (const w of [width, 768]) {
		await page.setViewportSize({ width: w, height: 900 });
		await isAsWide(page, file, w);
		const scroll = await page.evaluate(() => document.documentElement.scrollWidth);
		if (scroll > w)
			fail(file, `${w} px: the page is ${scroll} px wide`);
	}
	console.log(`${file}: ${width} px, ${colorScheme}${open ? ', all open' : ''}: ${result.passes.length} axe rules pass`);
	await context.close();
}

// Under Jenkins' policy nothing visible may be missing, and the linked style must apply.
async function underJenkins(browser, file) {
	const html = fs.readFileSync(file, 'utf8').replace('<style>', '<link rel="stylesheet" href="report.css"><style>');
	const server = http.createServer((request, response) => {
		const isCss = request.url === '/report.css';
		response.writeHead(200, { 'Content-Type': isCss ? 'text/css' : 'text/html; charset=utf-8',
					  'Content-Security-Policy': jenkins });
		response.end(isCss ? css : html);
	});
	await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
	const look = async (context, url) => {
		const page = await context.newPage();
		let refused = false;
		page.on('console', (message) => {
			refused = refused || /Refused to execute inline script|inline script violates/i.test(message.text());
		});
		await page.goto(url);
		const scripted = await page.evaluate(() => {
			const added = document.querySelectorAll('[data-script]');
			added.forEach((e) => e.remove());
			return added.length;
		});
		const seen = await page.evaluate(() => ({
			text: document.body.innerText.replace(/\s+/g, ' ').trim(),
			charts: [...document.querySelectorAll('svg')].filter((s) => s.getBoundingClientRect().height > 20).length,
			width: getComputedStyle(document.body).maxWidth,
		}));
		if (out)
			await page.screenshot({ path: path.join(out, path.basename(file) + '-jenkins.png') });
		await page.close();
		return { ...seen, scripted, refused };
	};
	// Evaluating needs no script of the page's own, so the sandbox stays as it is.
	const context = await contextOf(browser, { viewport: { width: 1280, height: 900 } });
	const plain = await look(context, 'file://' + path.resolve(file));
	const served = await look(context, `http://127.0.0.1:${server.address().port}/`);
	// A page without a table has nothing that the script adds to: the browser says whether it refused.
	if (html.includes("script-src 'sha256-") && plain.refused)
		fail(file, 'its policy refuses its own script');
	if (served.scripted)
		fail(file, "Jenkins' policy: a script ran");
	if (served.text !== plain.text)
		fail(file, "Jenkins' policy: the visible text differs");
	if (served.charts !== plain.charts)
		fail(file, `Jenkins' policy: ${served.charts} of ${plain.charts} charts are visible`);
	if (served.width !== plain.width || served.width === 'none')
		fail(file, "Jenkins' policy: the linked style does not apply");
	console.log(`${file}: under Jenkins' policy: ${served.charts} charts, ${served.text.length} characters`);
	await context.close();
	server.close();
}

// A button of a line chart leaves one line, and pressed again all of them.
async function isolation(browser, file) {
	const context = await contextOf(browser, { viewport: { width: 1280, height: 900 } });
	const page = await context.newPage();

	await page.goto('file://' + path.resolve(file));
	const wrong = await page.evaluate(() => {
		document.querySelectorAll('details').forEach((d) => { d.open = true; });
		return [...document.querySelectorAll('figure.chart > .tools button[aria-pressed]')].filter((button) => {
			const lines = [...button.closest('figure').querySelectorAll('path[stroke-linejoin]')];
			const seen = () => lines.filter((l) => (l.parentNode.getAttribute('opacity') || '1') === '1').length;
			const one = (button.click(), seen()), back = (button.click(), seen());
			return one !== 1 || back !== lines.length;
		}).map((button) => button.closest('figure').id + ', ' + button.textContent);
	});
	if (wrong.length)
		fail(file, `${wrong.length} buttons of charts do not isolate one line, first: ${wrong[0]}`);
	await context.close();
}

// A line chart shows the values below the pointer; a copied table has the words of the one that is seen, each for itself.
async function reading(browser, file) {
	const context = await contextOf(browser, { viewport: { width: 1280, height: 900 } });
	const page = await context.newPage();

	await page.goto('file://' + path.resolve(file));
	const wrong = await page.evaluate(async () => {
		const found = [];
		const words = (text) => text.replace(/[;,"]/g, ' ').split(/\s+/).filter(Boolean).sort().join(' ');

		if (!document.querySelector('.tools'))
			return found;
		document.querySelectorAll('details').forEach((d) => { d.open = true; });
		for (const svg of document.querySelectorAll('svg')) {
			const box = svg.getBoundingClientRect(), figure = svg.closest('figure, article');
			const lines = svg.querySelector('path[stroke-linejoin]') || svg.closest('.nights');

			if (!lines || figure.id === 'roofline' || !box.height || !figure.querySelector('details table'))
				continue;
			svg.dispatchEvent(new PointerEvent('pointermove', { clientX: box.left + box.width / 2, clientY: box.top + 50 }));
			if (!/\d/.test(figure.querySelector('.readout')?.textContent || ''))
				found.push('no values below the pointer: ' + (figure.id || figure.textContent.slice(0, 60)));
		}
		for (const button of document.querySelectorAll('.tools button[aria-label^="CSV"]')) {
			const table = button.closest('.tools').nextElementSibling.querySelector('table');
			let copied = '';

			Object.defineProperty(navigator, 'clipboard', { configurable: true, value: { writeText: async (t) => { copied = t; } } });
			await button.onclick();
			const seen = [...table.rows].filter((r) => !r.hidden).map((row) => [...row.cells]
				.filter((_, at) => ![...table.rows].some((r) => r.cells[at]?.querySelector('svg')))
				.map((cell) => { const sort = cell.querySelector('.sort'); sort?.remove(); return cell.innerText; }).join(' ')).join(' ');
			if (words(copied) !== words(seen)) {
				const a = words(copied).split(' '), b = new Set(words(seen).split(' '));
				found.push(`${button.getAttribute('aria-label')}: not the table's words: ${a.filter((w) => !b.has(w)).slice(0, 4).join(' ')}`);
			}
		}
		return found;
	});
	for (const what of wrong.slice(0, 5))
		fail(file, what);
	await context.close();
}

// The answer and a picture are on the first screen, and charts are read on a phone.
const answerBy = 400, pictureBy = 900, textFrom = 11;

async function firstScreen(browser, file) {
	const context = await contextOf(browser, { viewport: { width: 1280, height: 900 } });
	const page = await context.newPage();

	await page.goto('file://' + path.resolve(file));
	const seen = await page.evaluate(() => {
		const answer = document.querySelector('.lead, .verdict .answer, .verdict p, .verdict h2');
		const pictures = [...document.querySelectorAll('svg, .nodemap, .matrix.dense')].filter((s) => s.getBoundingClientRect().width > 40);
		return {
			answer: answer ? answer.getBoundingClientRect().bottom : null,
			picture: pictures.length ? pictures[0].getBoundingClientRect().top : null,
		};
	});
	const dead = await page.evaluate(() => [...document.querySelectorAll('a[href^="#"]')]
		.map((a) => decodeURIComponent(a.getAttribute('href').slice(1)))
		.filter((id) => id && !document.getElementById(id)));
	if (dead.length)
		fail(file, `links to what is not on the page: ${[...new Set(dead)].slice(0, 5).join(', ')}`);
	if (seen.answer !== null && seen.answer > answerBy)
		fail(file, `the answer ends ${Math.round(seen.answer)} px down, not within ${answerBy}`);
	if (seen.picture !== null && seen.picture > pictureBy)
		fail(file, `the first picture is ${Math.round(seen.picture)} px down, not within ${pictureBy}`);
	const visible = () => page.evaluate(() => [...document.querySelectorAll('svg')]
		.filter((s) => s.getBoundingClientRect().height > 0).length);
	const wide = await visible();
	await page.setViewportSize({ width: 390, height: 844 });
	await isAsWide(page, file, 390);
	const narrow = await visible();
	if (narrow !== wide)
		fail(file, `390 px: ${narrow} of ${wide} pictures and axes are visible`);
	const small = await page.evaluate((from) => [...document.querySelectorAll('svg text')].filter((t) => {
		const scale = t.getScreenCTM();
		return t.textContent.trim() && t.getBoundingClientRect().width && scale &&
			parseFloat(getComputedStyle(t).fontSize) * scale.a < from - 0.05;
	}).map((t) => t.textContent), textFrom);
	if (small.length)
		fail(file, `390 px: ${small.length} texts of charts are below ${textFrom} px, first: ${small[0]}`);
	const scrolled = await page.evaluate(() => [...document.querySelectorAll('.chart, .trend')]
		.filter((c) => c.scrollWidth > c.clientWidth + 1).length);
	const at = (px) => px === null ? 'nowhere' : `at ${Math.round(px)} px`;
	console.log(`${file}: answer ${at(seen.answer)}, first picture ${at(seen.picture)}, of charts ${scrolled} scroll at 390 px`);
	await context.close();
}

// A sheet of A4 with margins of 12 mm, upright, at 96 px per inch.
const sheet = 703;

// A page viewed dark still prints black on white, all of it: nothing is beyond the edge, closed tables are open.
async function onPaper(browser, file) {
	const context = await contextOf(browser, { colorScheme: 'dark' });
	const page = await context.newPage();

	await page.goto('file://' + path.resolve(file));
	const colours = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
	const screen = await colours();
	await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
	const paper = await colours();
	await page.setViewportSize({ width: sheet, height: 1000 });
	const printed = await page.evaluate(() => {
		const shows = (e) => e && e.getBoundingClientRect().height > 0;
		// Folds are not printed. A long table that is left out is named by the paragraph after it.
		const isNamed = (t) => {
			const after = t.closest('details.long')?.nextElementSibling;
			return after?.matches('.paper') && shows(after);
		};

		return {
			width: document.documentElement.scrollWidth,
			closed: [...document.querySelectorAll('details table')]
				.filter((t) => !t.closest('.chart, .trend, .keys, .fold:not([open])') && !shows(t) && !isNamed(t)).length,
			// A name of several words in a column that is as wide as a few letters.
			crushed: [...document.querySelectorAll('th[scope="row"]')]
				.filter((e) => shows(e) && e.getBoundingClientRect().width < 36 && /\w{5}/.test(e.innerText)).length,
		};
	});
	if (printed.width > sheet)
		fail(file, `on A4 the page is ${printed.width} px wide, not ${sheet}`);
	if (printed.closed)
		fail(file, `${printed.closed} tables are not on paper`);
	if (printed.crushed)
		fail(file, `${printed.crushed} names of rows are broken within words on paper`);
	if (screen === 'rgb(255, 255, 255)')
		fail(file, 'a dark screen shows a white page');
	if (paper !== 'rgb(255, 255, 255)')
		fail(file, `paper is ${paper} when the screen is dark`);
	await context.close();
}

async function pictures(browser, file) {
	const context = await contextOf(browser, { viewport: { width: 1280, height: 900 } });
	const page = await context.newPage();
	const base = path.join(out, path.basename(file));

	await page.goto('file://' + path.resolve(file));
	for (const colorScheme of ['light', 'dark']) {
		await page.emulateMedia({ colorScheme });
		for (const width of [1280, 768, 390]) {
			await page.setViewportSize({ width, height: 900 });
			await isAsWide(page, file, width);
			await page.screenshot({ path: `${base}-${colorScheme}-${width}.png`, fullPage: true });
		}
	}
	await page.pdf({ path: base + '.pdf', format: 'A4', margin: { top: '12mm', bottom: '12mm', left: '12mm', right: '12mm' } });
	await context.close();
}

// Paper has the answer and its evidence: the acceptance two sheets, of more than four GPUs three, any other page six.
async function sheets(browser, file) {
	const context = await contextOf(browser, { viewport: { width: 1280, height: 900 } });
	const page = await context.newPage();

	await page.goto('file://' + path.resolve(file));
	const pdf = await page.pdf({ format: 'A4' });
	const count = (pdf.toString('latin1').match(/\/Type\s*\/Page[^s]/g) || []).length;
	const most = await page.evaluate(() => !document.querySelector('.sign-off') ? 6
		: document.querySelectorAll('.sign-off .matrix tbody tr').length > 4 ? 3 : 2);
	if (count > most)
		fail(file, `${count} sheets of A4, not at most ${most}`);
	console.log(`${file}: ${count} sheets of A4`);
	await context.close();
}

(async () => {
	const browser = await chromium.launch({
		executablePath: process.env.CHROMIUM,
		args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
			'--disable-background-networking', '--disable-component-update', '--disable-sync'],
	});
	const look = async (file) => {
		for (const colorScheme of ['light', 'dark'])
			for (const width of [1280, 390])
				for (const open of [false, true])
					await audit(browser, file, width, colorScheme, open);
		await underJenkins(browser, file);
		await firstScreen(browser, file);
		await isolation(browser, file);
		await reading(browser, file);
		await onPaper(browser, file);
		await sheets(browser, file);
		if (out)
			await pictures(browser, file);
	};
	// A page that a browser cannot cope with fails, and the others are still looked at.
	for (const file of pages)
		await look(file).catch((e) => fail(file, `not looked at whole: ${String(e).split('\n')[0]}`));
	await browser.close();
	process.exit(failures ? 1 : 0);
})();
