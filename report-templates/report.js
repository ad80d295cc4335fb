/*
 * Sorts, searches and copies tables, reads values off charts, isolates a series, copies links. The page is complete without, and
 * shows no control that would do nothing.
 */
'use strict';
(() => {
	const scales = { p: 1e-12, n: 1e-9, 'µ': 1e-6, m: 1e-3, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15,
		Ki: 1024, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40 };
	const all = (root, what) => [...root.querySelectorAll(what)];
	const add = (parent, tag, text, attributes) => {
		const element = document.createElement(tag);

		element.setAttribute('data-script', '');
		for (const name in attributes)
			element.setAttribute(name, attributes[name]);
		element.textContent = text;
		parent.append(element);
		return element;
	};
	const textOf = (cell) => {
		const copy = cell.cloneNode(true);

		all(copy, '[data-script], svg').forEach((element) => element.remove());
		all(copy, 'br, div, small, li, details, summary').forEach((element) => { element.before(' '); element.after(' '); });
		all(copy, 'li + li, div + div').forEach((element) => element.before('; '));
		return copy.textContent.trim().replace(/\s+(;?)\s*/g, '$1 ');
	};
	/* "~ 55.4 GB/s [55, 56]" as a number in base units; NaN where the text does not begin with one. */
	const number = (text) => {
		const m = /^[~✓○✗!<>≈\s]*([-−]?)(\d[\d.,]*(?:e[-+]?\d+)?)\s*(?:([KMGT]i|[pnµmkMGTP])(?=[BsWJH]|FLOP|ops|OP))?/.exec(text);

		return m ? (m[1] ? -1 : 1) * m[2].replace(/,/g, '') * (scales[m[3]] || 1) : NaN;
	};
	const copy = async (text, button) => {
		const label = button.textContent;

		try {
			await navigator.clipboard.writeText(text);
		} catch (e) {
			const area = add(document.body, 'textarea', text);

			area.select();
			document.execCommand('copy');
			area.remove();
		}
		button.textContent = 'copied';
		setTimeout(() => { button.textContent = label; }, 1200);
	};
	const drawn = (table, i) => [...table.rows].some((row) => row.cells[i]?.querySelector('svg'));
	const cellsOf = (table) => {
		const cut = [...table.rows[0].cells].map((_, at) => drawn(table, at));

		return all(table, 'tr').filter((row) => !row.hidden)
			.map((row) => [...row.cells].filter((_, at) => !cut[at]).map(textOf));
	};
	const quoted = (text) => /[",\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
	const csv = (table) => cellsOf(table).map((row) => row.map(quoted).join(',') + '\n').join('');
	const markdown = (table) => {
		const cells = cellsOf(table), lines = cells.map((row) =>
			'| ' + row.map((text) => text.replace(/\|/g, '\\|')).join(' | ') + ' |\n');

		lines.splice(1, 0, '|' + ' --- |'.repeat(cells[0].length) + '\n');
		return lines.join('');
	};

	const sort = (table, column, head) => {
		const down = head.getAttribute('aria-sort') === 'ascending', body = table.tBodies[0];
		const rows = [...body.rows].map((row) => {
			const text = row.cells[column] ? textOf(row.cells[column]) : '';

			return { row, text, value: number(text) };
		});
		const numeric = rows.filter((r) => !isNaN(r.value)).length * 2 > rows.length;
		const order = (a, b) => numeric ? a.value - b.value : a.text.localeCompare(b.text, 'en', { numeric: true });

		/* Rows without a value stay last in both directions. */
		rows.sort((a, b) => numeric && isNaN(a.value) !== isNaN(b.value) ? isNaN(a.value) - isNaN(b.value) :
			isNaN(order(a, b)) ? 0 : down ? order(b, a) : order(a, b));
		all(table, '[aria-sort]').forEach((other) => other.removeAttribute('aria-sort'));
		head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
		body.append(...rows.map((r) => r.row));
	};
	const search = (table, words, count) => {
		const wanted = words.toLowerCase().split(/\s+/), rows = [...table.tBodies[0].rows];

		for (const row of rows) {
			const text = row.textContent.toLowerCase();

			row.hidden = !wanted.every((word) => text.includes(word));
		}
		count.textContent = words ? rows.filter((row) => !row.hidden).length + ' of ' + rows.length : '';
	};
	for (const wide of all(document, '.wide')) {
		const table = wide.querySelector('table'), name = wide.getAttribute('aria-label') || 'table';
		const tools = document.createElement('div');
		const rows = table && table.tBodies.length === 1 ? table.tBodies[0].rows.length : 0;

		if (!table || !table.tHead)
			continue;
		tools.className = 'tools';
		tools.setAttribute('data-script', '');
		if (rows > 2 && table.tHead.rows.length === 1)
			[...table.tHead.rows[0].cells].forEach((head, column) => {
				if (drawn(table, column))
					return;
				const label = 'Sort by ' + (textOf(head) || 'column ' + (column + 1));

				add(head, 'button', '⇅', { type: 'button', class: 'sort', 'aria-label': label })
					.onclick = () => sort(table, column, head);
			});
		if (rows > 7) {
			const input = add(tools, 'input', '', { type: 'search', placeholder: 'search', 'aria-label': 'Search in ' + name });
			const count = add(tools, 'span', '', { role: 'status' });

			input.oninput = () => search(table, input.value.trim(), count);
		}
		for (const [label, form] of [['CSV', csv], ['Markdown', markdown]]) {
			const button = add(tools, 'button', label, { type: 'button', 'aria-label': label + ': copy ' + name });

			button.onclick = () => copy(form(table), button);
		}
		wide.before(tools);
	}
	for (const link of all(document, 'a.here'))
		link.addEventListener('click', () => copy(link.href, link));

	/* The drawing's data-x has the place of each row of its table. */
	const readout = (figure, svg) => {
		const table = figure.querySelector('details table'), box = svg.viewBox.baseVal;
		const xs = svg.dataset.x.split(' ').map(Number);
		const names = [...table.tHead.rows[0].cells].slice(1).map(textOf);
		const rows = [...table.tBodies[0].rows].map((row) => [...row.cells].map(textOf));
		const cross = document.createElementNS('http://www.w3.org/2000/svg', 'path');
		const words = document.createElement('p');

		words.className = 'note readout';
		words.setAttribute('data-script', '');
		cross.setAttribute('stroke', '#777777');
		svg.append(cross);
		svg.after(words);
		svg.onpointermove = (event) => {
			const place = svg.getBoundingClientRect(), x = (event.clientX - place.left) * box.width / place.width;
			const at = xs.reduce((best, value, i) => Math.abs(value - x) < Math.abs(xs[best] - x) ? i : best, 0);

			cross.setAttribute('d', `M${xs[at]} 26V${box.height - 36}`);
			words.textContent = rows[at][0] + ': ' + names.map((name, i) => name + ' ' + rows[at][i + 1]).join('; ');
		};
		svg.onpointerleave = () => { cross.setAttribute('d', ''); words.textContent = ''; };
	};
	/* All but the series at `place` fade; null: none does. */
	const isolate = (svg, place) => all(svg, 'g').forEach((g) =>
		g.setAttribute('opacity', place === null || g.getAttribute('class') === 's' + place ? 1 : 0.12));
	for (const svg of all(document, 'svg[data-x]')) {
		const figure = svg.closest('figure, article'), lines = all(svg, 'path[stroke-linejoin]');
		const heads = all(figure, 'details thead th').slice(1);

		readout(figure, svg);
		if (lines.length < 2 || heads.length !== lines.length)
			continue;
		const tools = add(figure, 'div', 'Only: ', { class: 'tools' });

		heads.forEach((head, i) => {
			const button = add(tools, 'button', textOf(head), { type: 'button', 'aria-pressed': 'false' });

			button.onclick = () => {
				const on = button.getAttribute('aria-pressed') !== 'true';

				all(tools, 'button').forEach((other) => other.setAttribute('aria-pressed', other === button && on));
				isolate(svg, on ? i : null);
			};
		});
	}
})();
