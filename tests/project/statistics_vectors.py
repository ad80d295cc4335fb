#!/usr/bin/env python3
"""Checks tests/data/statistics/*.json by formulas of its own (docs/statistics.md), standard library only.

usage: statistics_vectors.py FOLDER [KIND] [--write]     --write: fills in what is expected, after a wanted change
KIND: the file KIND.json alone.
Exit code 1: a vector differs from what the formulas give.
"""
import bisect, functools, itertools, json, math, os, sys
from statistics import median

V = 3  # degrees of freedom that the typical spread counts for
HL = math.pi / 3  # variance of the Hodges-Lehmann estimate over that of the mean
Z95, Z975 = 1.6448536269514722, 1.959963984540054
LEAST, MOST, SESSION = 0.01, 0.05, 0.01


@functools.lru_cache(None)
def student_tail(t, freedom):
	"""P(|T| >= t), by integrating the density over the angle whose tangent is t / sqrt(freedom)."""
	if math.isinf(freedom):
		return math.erfc(abs(t) / math.sqrt(2))
	angle = math.atan(abs(t) / math.sqrt(freedom))
	steps = 20000
	h = (math.pi / 2 - angle) / steps
	density = lambda x: math.cos(x) ** (freedom - 1) if x < math.pi / 2 else float(freedom == 1)
	total = density(angle) + density(math.pi / 2)
	total += sum((4 if i % 2 else 2) * density(angle + i * h) for i in range(1, steps))
	constant = 2 * math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(math.pi)
	return constant * total * h / 3


@functools.lru_cache(None)
def student_quantile(p, freedom):
	if math.isinf(freedom):
		return Z975 if p > 0.96 else Z95
	constant = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(freedom * math.pi)
	# Newton's method. It starts below the quantile and the tail is convex there, so that each step stays below.
	t, step = Z95 if p > 0.95 else 0.0, math.inf
	while abs(step) > 1e-12 * (1 + t):
		density = constant * (1 + t * t / freedom) ** (-(freedom + 1) / 2)
		step = (student_tail(t, freedom) - 2 * (1 - p)) / (2 * density)
		t += step
	return t


def hodges_lehmann(x):
	return median((x[i] + x[j]) / 2 for i in range(len(x)) for j in range(i, len(x)))


def squares(x):
	mean = math.fsum(x) / len(x)
	return math.fsum((v - mean) ** 2 for v in x)


def repeat(v):
	logs, n = v["logs"], len(v["logs"])
	freedom = V + n - 1
	deviation = math.sqrt((V * v["spread"] ** 2 + squares(logs)) / freedom)
	half = student_quantile(v["probability"], freedom) * deviation * math.sqrt((1 if n < 3 else HL) / n)
	if n == 1:
		half = math.hypot(half, v["sample_half"])
	center = hodges_lehmann(logs)
	low, high = center - half, center + half
	if v["states"] and n >= 3:
		# The k-th smallest and largest launch: the largest k that leaves 93 %, by the sign test.
		k = 1
		while 2 * (k + 1) <= n and 1 - 2 * sum(math.comb(n, i) for i in range(k + 1)) / 2**n >= 0.93:
			k += 1
		low, high = min(low, sorted(logs)[k - 1]), max(high, sorted(logs)[n - k])
	return {"center": center, "low": low, "high": high}


def mann_whitney(v):
	m, n = v["m"], v["n"]
	if math.comb(m + n, m) > 1e7:  # too many orders: normal, with continuity correction
		return {"probability": math.erfc((m * n / 2 - v["u"] - 0.5) / math.sqrt(m * n * (m + n + 1) / 6)) / 2}
	counts = {}
	for places in itertools.combinations(range(m + n), m):
		u = sum(places) - m * (m - 1) // 2
		counts[u] = counts.get(u, 0) + 1
	return {"probability": sum(c for u, c in counts.items() if u <= v["u"]) / math.comb(m + n, m)}


def rank_interval(a, b):
	m, n = len(a), len(b)
	differences = sorted(y - x for x in a for y in b)
	counts = [0] * (m * n + 1)
	for places in itertools.combinations(range(m + n), m):
		counts[sum(places) - m * (m - 1) // 2] += 1
	k, below = 0, 0
	while (below + counts[k]) / math.comb(m + n, m) <= 0.025:
		below += counts[k]
		k += 1
	return median(differences), differences[k - 1], differences[-k]


def signed_rank_interval(d):
	n = len(d)
	means = sorted((d[i] + d[j]) / 2 for i in range(n) for j in range(i, n))
	sums = [sum(r for r, s in zip(range(1, n + 1), signs) if s) for signs in itertools.product((0, 1), repeat=n)]
	k = 0
	while sum(s <= k for s in sums) / 2**n <= 0.025:
		k += 1
	if not k:
		half = student_quantile(0.975, n - 1) * math.sqrt(squares(d) / (n - 1) / n)
		return median(means), median(means) - half, median(means) + half
	return median(means), means[k - 1], means[-k]


def compare(v):
	"""One figure of two sets of launches: the shift, its intervals, margin, word."""
	a, b, turns = v["a"], v["b"], v["turns"]
	enough = len(a) >= 4 and len(b) >= 4
	sessions = 0 if turns else math.sqrt(2) * v["session_spread"]
	session_freedom = v["session_freedom"] or math.inf
	share = lambda n: (1 if n < 3 else HL) / n
	typical = v["launch_spread"]
	if turns and len(a) == len(b) and enough:
		d = [y - x for x, y in zip(a, b)]
		value, low, high = signed_rank_interval(d)
		freedom, variance = len(d) - 1, squares(d) / (len(d) - 1)
		if math.sqrt(variance / 2) <= 2 * typical:
			freedom += V
			variance = (squares(d) + V * 2 * typical**2) / freedom
		launches = math.sqrt(variance * share(len(d)))
	else:
		value = median(y - x for x in a for y in b)
		low = high = value
		if enough:
			value, low, high = rank_interval(a, b)
		freedom = len(a) + len(b) - 2 + V
		variance = (squares(a) + squares(b) + V * typical**2) / freedom
		launches = math.sqrt(variance * (share(len(a)) + share(len(b))))
	error = math.hypot(launches, sessions)
	terms = launches**4 / freedom + (0 if math.isinf(session_freedom) else sessions**4 / session_freedom)
	freedom = error**4 / terms
	if enough:
		wide = student_quantile(0.975, session_freedom) * sessions
		low, high = value - math.hypot(value - low, wide), value + math.hypot(high - value, wide)
	else:
		half = student_quantile(0.975, freedom) * error
		low, high = value - half, value + half
	half = student_quantile(0.95, freedom) * error
	margin = (student_quantile(0.95, freedom) + Z95) * error
	same = min(max(margin, math.log1p(LEAST)), math.log1p(MOST))
	worse, better = math.log1p(LEAST), math.log1p(-LEAST)
	if Z975 * sessions > LEAST:
		worse, better = same, -same
	worse += min(max(v["common"], 0), SESSION)
	better += min(max(v["common"], -SESSION), 0)
	if low > worse:
		word = "REGRESSED"
	elif high < better:
		word = "IMPROVED"
	elif max(low, value - half) >= -same and min(high, value + half) <= same:
		word = "UNCHANGED"
	else:
		word = "INCONCLUSIVE"
	return {"value": value, "low": low, "high": high, "error": error, "freedom": freedom, "margin": margin, "word": word}


def drawn_in(x, distance):
	middle = median(x)
	return [min(max(v, middle - distance), middle + distance) for v in x]


def level(v):
	"""Levels of the nights before and after: the shift, its error, P(no farther than `limit`)."""
	sides = v["logs"][: v["before"]], v["logs"][v["before"] :]
	rho, n = v["rho"], len(v["logs"])
	distance = math.inf
	if n > 2:
		off = [abs(x - median(side)) for side in sides for x in side]
		distance = 3.5 * 1.4826 * median(off) * math.sqrt(n / (n - 2)) or math.inf
	total = worth = freedom = g_sum = 0
	means = []
	for side in sides:
		m = len(side)
		g = (1 + rho) / (1 - rho) / m - 2 * rho * (1 - rho**m) / (m * (1 - rho)) ** 2
		kept = side if m < 5 else drawn_in(side, distance)
		means.append(math.fsum(kept) / m)
		total += squares(kept)
		worth += m * (1 - g)
		freedom += (m - 1) * (1 - rho**2) / (1 + rho**2)
		g_sum += g
	total = freedom * total / worth if freedom else 0
	if v["typical"]:
		total += V * v["typical"] ** 2
		freedom += V
	error = math.sqrt(max(total / freedom, 1e-12) * g_sum)
	value = means[1] - means[0]
	beyond = abs(value) - v["limit"]
	return {"value": value, "error": error, "freedom": freedom,
		"probability": student_tail(beyond / error, freedom) / 2 if beyond > 0 else 1}


def state(v):
	"""Is the level of the nights [at, end) one that the series takes again and again?"""
	logs, first, at, end = v["logs"], v["from"], v["at"], v["end"]
	before = median(logs[first:at])
	shift = median(logs[at:end]) - before
	states = v["lasting"] and math.log1p(0.1) <= abs(shift) < math.log(2)
	if states and min(at - first, end - at) < v["lasting"]:
		return {"is": True}
	share = math.erfc(0.75 * abs(shift) / math.sqrt(2 * squares(logs[first:at]) / (at - first - 1))) / 2
	nights = visits = 0
	for part in (logs[:at], logs[end:] if states else []):
		length = 0
		for x in part + [before]:
			place = (x - before) / shift
			if place > 0.75:
				length += 1
			elif place <= 0.5:
				if length and (states or length < 5):
					nights, visits = nights + length, visits + 1
				length = 0
	expected = share * (len(logs) - (end - at) if states else at)
	return {"is": nights > expected + 2 * math.sqrt(expected) and visits >= (1 if states else 2)}


def states(v):
	"""Visits of two states, and the series with the rarer one moved to the other: the division with the least squares of all."""
	logs = v["logs"]
	out = {"visits": 0, "nights": 0, "moved": False, "merged": list(logs)}
	ordered = sorted(logs)
	divisions = [(squares(ordered[:k]) + squares(ordered[k:]), k) for k in range(1, len(logs))] if len(logs) > 2 else []
	if divisions:
		within, k = min(divisions)
		low, high = (math.fsum(part) / len(part) for part in (ordered[:k], ordered[k:]))
		if v["least"] < high - low < v["most"] and high - low > 4 * math.sqrt(within / len(logs)):
			upper = [x > (low + high) / 2 for x in logs]
			lengths = [len(list(group)) for _, group in itertools.groupby(upper)][1:-1]
			out["visits"], out["nights"] = len(lengths), sum(lengths)
			if lengths and min(lengths) <= v["longest"]:
				common = 2 * k < len(logs)
				shift = (high - low) * (1 if common else -1)
				out["merged"] = [x if up == common else x + shift for x, up in zip(logs, upper)]
				out["moved"] = True
	ends = (out["visits"] + 1) / (out["nights"] + 3)
	out["length"] = math.ceil(math.log(v["probability"]) / math.log1p(-ends)) if ends < 1 else 1
	return out


def solve(matrix, columns):
	"""Columns of the inverse of a symmetric positive matrix times `columns`, and the logarithm of its determinant (Cholesky)."""
	n = len(matrix)
	low = [[0.0] * n for _ in range(n)]
	for i in range(n):
		for j in range(i + 1):
			rest = matrix[i][j] - math.fsum(low[i][k] * low[j][k] for k in range(j))
			low[i][j] = math.sqrt(rest) if i == j else rest / low[j][j]
	out = []
	for column in columns:
		x = list(column)
		for i in range(n):
			x[i] = (x[i] - math.fsum(low[i][k] * x[k] for k in range(i))) / low[i][i]
		for i in reversed(range(n)):
			x[i] = (x[i] - math.fsum(low[k][i] * x[k] for k in range(i + 1, n))) / low[i][i]
		out.append(x)
	return out, 2 * math.fsum(math.log(low[i][i]) for i in range(n))


def dot(x, y):
	return math.fsum(a * b for a, b in zip(x, y))


def pool(v):
	"""A step common to GPUs that take turns: generalised least squares with the whole covariance matrix."""
	gpus, days, logs, at = v["gpus"], v["days"], v["logs"], v["at"]
	n, centre = len(logs), math.fsum(v["logs"]) / len(v["logs"])
	y, one, step = [x - centre for x in logs], [1.0] * n, [float(i >= at) for i in range(n)]
	best = None
	for lam in [0] + [2.0 ** (2 * k - 6) for k in range(1, 11)]:
		cov = [[(i == j) + lam * (gpus[i] == gpus[j]) for j in range(n)] for i in range(n)]
		(vy, vone, vstep), logdet = solve(cov, [y, one, step])
		a, b, c = dot(one, vone), dot(one, vstep), dot(step, vstep)
		det = a * c - b * b
		level, size = (c * dot(one, vy) - b * dot(step, vy)) / det, (a * dot(step, vy) - b * dot(one, vy)) / det
		rest = max(dot(y, vy) - level * dot(one, vy) - size * dot(step, vy), 0) + n * 1e-12
		shrunk = sum(lam * gpus.count(g) / (1 + lam * gpus.count(g)) for g in set(gpus))
		likelihood = -((n - 2) * math.log(rest) + math.log(det) + logdet) / 2
		if n - 2 - shrunk >= 1 and (best is None or likelihood > best[0]):
			residuals = [y[i] - level - size * step[i] for i in range(n)]
			solved, _ = solve(cov, [residuals])
			own = {g: lam * math.fsum(solved[0][i] for i in range(n) if gpus[i] == g) for g in set(gpus)}
			clean = [residuals[i] - own[gpus[i]] for i in range(n)]
			best = likelihood, lam, level, size, rest, a / det, n - 2 - shrunk, clean
	_, lam, level, size, rest, worth, freedom, clean = best
	variance = rest / (n - 2)
	nights = [[clean[i] for i in range(n) if days[i] == d] for d in sorted(set(days))]
	means = [math.fsum(x) / len(x) for x in nights]
	total = math.fsum(len(x) * m * m for x, m in zip(nights, means))
	r = math.fsum(len(nights[i]) * means[i] * means[i - 1] for i in range(1, len(nights))) / total
	count = len(nights)
	r = max(0, min(0.9, (count * r + 1) / max(count - 4, 1) + 1 / math.sqrt(count)))
	inflation = max(1, total / (count * variance)) * (1 + r) / (1 - r)
	freedom = min(freedom, count - 2)
	apart = math.sqrt(lam * variance)
	variance = (V * v["typical"] ** 2 + freedom * variance) / (V + freedom)
	return {"value": size, "level": centre + level, "apart": apart, "freedom": freedom + V, "error": math.sqrt(variance * worth * inflation)}


def quantile(ordered, p):
	at = (len(ordered) - 1) * p
	k = min(int(at), len(ordered) - 2) if len(ordered) > 1 else 0
	return ordered[k] if len(ordered) == 1 else ordered[k] * (1 - at + k) + ordered[k + 1] * (at - k)


def correlation(x):
	"""Lag-1 autocorrelation."""
	mean = math.fsum(x) / len(x)
	return math.fsum((a - mean) * (b - mean) for a, b in zip(x, x[1:])) / squares(x) if squares(x) > 1e-20 else 0


def median_share(n):
	"""Where the 95 % interval of the median of n independent values begins, as a share of them (Hettmansperger & Sheather 1986)."""
	cover = lambda d: 1 - 2 * sum(math.comb(n, k) for k in range(d)) / 2**n
	d = max(d for d in range(1, n) if cover(d) >= 0.95)
	part = (cover(d) - 0.95) / (cover(d) - cover(d + 1))
	return (d + (n - d) * part / (d + (n - 2 * d) * part) - 0.5) / n


def median_interval(x, r):
	"""Of values whose number depended on them: r is corrected for its bias, and 0.65 standard errors are added."""
	n = len(x)
	independent = lambda r: n * (1 - r) / (1 + r) if r > 0 else n
	if independent(r) < 6:
		return None
	effective = max(independent(min(r + (1 + 4 * r) / n + 0.65 / math.sqrt(n), 0.99)), 6)
	whole = math.floor(effective)
	share = median_share(whole) + (effective - whole) * (median_share(whole + 1) - median_share(whole))
	share = max(0, (share * n - 0.5) / (n - 1))
	return quantile(sorted(x), share), quantile(sorted(x), 1 - share)


def interval(x):
	"""The interval of a series, and whether it comes from the series without its trend."""
	n, third = len(x), len(x) // 3
	found = median_interval(x, correlation(x)) if n > 5 else None
	if found or n < 6:
		return found, False
	trend = (median(x[n - third:]) - median(x[:third])) / (n - third)
	level = [v - trend * (i - (n - 1) / 2) for i, v in enumerate(x)]
	found = median_interval(level, correlation(level))
	if found:
		found = found[0] - abs(trend) * (n - 1) / 2, found[1] + abs(trend) * (n - 1) / 2
	found = None if found and found[0] <= 0 < min(x) else found
	return found, bool(found)


def load(x):
	n, mean = len(x), math.fsum(x) / len(x)
	halves = (math.fsum(x[: n // 2]) / (n // 2) - math.fsum(x[n // 2 :]) / (n - n // 2)) / 2 if n > 1 else 0
	typical = min(0.002 * mean, math.sqrt(squares(x) / (n - 1) / n)) if n > 1 else 0
	half = 2.776 * math.sqrt((halves**2 + V * typical**2) / (1 + V)) if n > 5 else None
	return mean, half


def unsettled(x, target):
	"""Mann's trend test on the medians of at most 64 blocks, with the variance of correlated noise, and the size of the change."""
	n, third = len(x), len(x) // 3
	if n < 6 or median(x[:third]) <= 0 or abs(median(x[n - third:]) / median(x[:third]) - 1) <= max(0.01, target):
		return False
	blocks = min(n, 64)
	b = [median(x[i * n // blocks : (i + 1) * n // blocks]) for i in range(blocks)]
	score = sum((b[j] > b[i]) - (b[j] < b[i]) for i in range(blocks) for j in range(i + 1, blocks))
	turned = b if score >= 0 else [-v for v in b]
	mean = lambda i, j: math.fsum(turned[i : j + 1]) / (j + 1 - i)
	# Isotonic regression: the largest over starts of the smallest over ends of the mean between them.
	rest = [v - max(min(mean(i, j) for j in range(k, blocks)) for i in range(k + 1)) for k, v in enumerate(turned)]
	r = min(max(correlation(rest), 0), 0.99)
	variance = blocks * (blocks - 1) * (2 * blocks + 5) / 18 * (1 + r) / (1 - r)
	return abs(score) - 1 > 2.576 * math.sqrt(variance)


def series(v):
	"""Interval of the median, of a load's mean, and whether the level has settled."""
	x, middle = v["samples"], median(v["samples"])
	found, drifts = interval(x)
	low, high = found or (None, None)
	mean, half = load(x)
	return {"low": low, "high": high, "drifts": drifts, "mean": mean, "half_of_load": half, "unsettled": unsettled(x, v["target"]),
		"half": max(high - middle, middle - low) / middle if found and middle > 0 else None}


def difference(v):
	"""Two parts of a series: Student's t on values drawn in to 3.5 robust deviations, and the ranks with ties against a difference."""
	a, b = v["a"], v["b"]
	n = len(a) + len(b)
	distance = 3.5 * 1.4826 * median([abs(x - median(part)) for part in (a, b) for x in part]) * math.sqrt(n / (n - 2))
	kept = [drawn_in(part, distance) for part in (a, b)]
	means = [math.fsum(part) / len(part) for part in kept]
	error = math.sqrt((squares(kept[0]) + squares(kept[1])) / (n - 2) * (1 / len(a) + 1 / len(b)))
	t = abs(means[1] - means[0]) / error if error else math.inf if means[0] != means[1] else 0
	u = min(sum(x <= y for x in a for y in b), sum(x >= y for x in a for y in b))
	ranks = min(1, 2 * mann_whitney({"m": len(a), "n": len(b), "u": u})["probability"])
	return {"distance": distance, "student": student_tail(t, n - 2) if math.isfinite(t) else 0, "ranks": ranks}


def launches(v):
	"""Smallest number of launches a side with which an unchanged figure is UNCHANGED in 80 % of comparisons."""
	def enough(n):
		error, sessions = v["spread"] * v["resemblance"] * math.sqrt(2 * HL / n), math.sqrt(2) * v["session_spread"]
		half = math.hypot(student_quantile(0.95, 2 * n - 2) * error, Z95 * sessions)
		return half + 1.2815515655446004 * math.hypot(error, sessions) <= v["margin"]

	numbers = range(4, 1001)
	return {"needed": numbers[bisect.bisect_left(numbers, True, key=enough)] if enough(1000) else 0}


def student(v):
	return {"probability": student_tail(v["t"], v["freedom"]), "quantile_975": student_quantile(0.975, v["freedom"])}


KINDS = {"student": student, "repeat": repeat, "mann_whitney": mann_whitney, "compare": compare, "level": level, "state": state, "states": states, "pool": pool, "series": series, "difference": difference, "launches": launches}


def differ(expected, got):
	if expected is None or got is None:
		return expected is not got
	if isinstance(got, float) or isinstance(got, int) and not isinstance(got, bool):
		return not abs(expected - got) <= 1e-7 * max(1, abs(got))
	return expected != got


def main():
	write = "--write" in sys.argv
	folder, *kinds = [word for word in sys.argv[1:] if word != "--write"]
	checked = bad = 0
	for kind, formula in [(kind, KINDS[kind]) for kind in kinds or KINDS]:
		path = os.path.join(folder, kind + ".json")
		with open(path, encoding="utf-8") as f:
			vectors = json.load(f)
		for i, v in enumerate(vectors):
			got = formula(v["input"])
			if write:
				v["expected"] = got
			for name, value in got.items():
				checked += 1
				if differ(v["expected"][name], value):
					print(f"{path}, vector {i}: {name} is {value}, not {v['expected'][name]}")
					bad += 1
			if set(got) != set(v["expected"]):
				print(f"{path}, vector {i}: has {sorted(v['expected'])}, not {sorted(got)}")
				bad += 1
		if write:
			with open(path, "w", encoding="utf-8") as f:
				f.write("[\n" + ",\n".join(" " + json.dumps(v) for v in vectors) + "\n]\n")
	print(f"{checked} values, {bad} differ")
	return bad > 0 or not checked


sys.exit(main())
