"use strict";

// Choosing, for a page that is complete without it. What is drawn here is what
// curve.go draws, statement by statement; a test compares the two.

const DATA = JSON.parse(document.getElementById("data").textContent);

const WIDE = { class: "wide", w: 760, h: 400, left: 50, right: 14, top: 34, bottom: 58 };
const NARROW = { class: "narrow", w: 358, h: 330, left: 46, right: 8, top: 34, bottom: 56 };
const CURVE_LABEL = "Redundancy against effective window";

// Figures, as internal/report/number.go prints them.
const round1 = (x) => Math.floor(x * 10 + 0.5) / 10;
const n = (x) => String(round1(x));
const count = (x) => String(x).replace(/\B(?=(\d{3})+$)/g, ",");
const percent = (share) => (100 * share).toFixed(6);
function duration(ms) {
  if (ms < 1000) return `${ms} ms`;
  const rest = ms % 1000;
  return count(Math.floor(ms / 1000)) + (rest ? ("." + String(rest).padStart(3, "0")).replace(/0+$/, "") : "") + " s";
}
function roughly(share) {
  const p = 100 * share;
  if (p === 0) return "0";
  if (p >= 99.95) return p.toFixed(0);
  if (p >= 9.995) return p.toFixed(1);
  const exponent = Number(p.toExponential(2).split("e")[1]);
  return exponent < -6 ? p.toExponential(2) : p.toFixed(2 - exponent);
}

// The measures of a curve, in the order of the data.
const [REDUNDANCY, TIES_LOW, TIES_HIGH, INTERVAL_LOW, INTERVAL_HIGH] = [0, 1, 2, 3, 4];
const WITHOUT = 5;
const value = (curve, measure, i) => DATA.values[curve.measures[measure][i]];

const routingClass = (routing) => (routing === "round_robin" ? "a" : "b");
const lookupClass = (lookup) => (lookup === "independent_blocks" ? "dash" : "solid");
const classOf = (c) => routingClass(c.routing) + " " + lookupClass(c.lookup);

function logScale(from, to, x0, x1) {
  const a = Math.log10(from), b = Math.log10(to);
  return (v) => (b === a ? (x0 + x1) / 2 : x0 + ((Math.log10(v) - a) / (b - a)) * (x1 - x0));
}

function ticksTo(most) {
  if (most <= 0) most = 1;
  const exponent = Math.floor(Math.log10(most / 4));
  let step = 0;
  for (const f of [1, 2, 5, 10]) {
    step = f * Math.pow(10, exponent);
    if (Math.ceil(most / step - 1e-9) <= 5) break;
  }
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const number = Math.max(1, Math.ceil(most / step - 1e-9));
  return { step, number, end: number * step, label: (i) => (i * step).toFixed(digits) };
}

// What of a curve is its upper and its lower end, by the band asked for.
const BANDS = {
  without: [REDUNDANCY, WITHOUT],
  ties: [TIES_HIGH, TIES_LOW],
  interval: [INTERVAL_HIGH, INTERVAL_LOW],
};

// drawCurve returns the SVG of curves of a trace. See drawCurve in curve.go.
function drawCurve(s, t, curves, view) {
  const x0 = s.left, x1 = s.w - s.right, y0 = s.h - s.bottom, y1 = s.top;
  const windows = t.windows, last = windows.length - 1;
  const least = windows[0], most = windows[last];
  const band = BANDS[view.band];
  let top = 0, bottom = Infinity;
  for (const c of curves) {
    for (let i = 0; i <= last; i++) {
      const v = value(c, REDUNDANCY, i) * 100;
      top = Math.max(top, v, band && view.band !== "without" ? value(c, band[0], i) * 100 : 0);
      if (v > 0) bottom = Math.min(bottom, v);
    }
  }
  const x = logScale(least, most, x0, x1);
  const out = [];
  const put = (...parts) => out.push(...parts);
  const line = (cls, ax, ay, bx, by) => put(`<path class="${cls}" d="M${n(ax)} ${n(ay)}L${n(bx)} ${n(by)}"/>`);
  const rect = (cls, rx, ry, w, h) => put(`<rect class="${cls}" x="${n(rx)}" y="${n(ry)}" width="${n(w)}" height="${n(h)}"/>`);
  const text = (cls, tx, ty, words) => put(`<text class="${cls}" x="${n(tx)}" y="${n(ty)}">${words}</text>`);
  put(`<svg class="chart ${s.class}" viewBox="0 0 ${n(s.w)} ${n(s.h)}" role="img" aria-label="${CURVE_LABEL}">`);

  const gap = t.gap === null || t.gap >= most ? x1 : t.gap <= least ? x0 : x(t.gap);
  if (gap > x0) {
    rect("one", x0, y1, gap - x0, y0 - y1);
    line("gap", gap, y1, gap, y0);
    if (gap - x0 > 150) text("t e halo", gap - 5, y1 + 14, t.gap === null ? "one experiment" : `one experiment: up to ${count(t.gap)} ms`);
  }

  let y;
  if (view.scale === "log" && top > 0) {
    const even = view.mark && view.mark.breakEven !== null ? view.mark.breakEven * 100 : 0;
    if (even > bottom / 1000 && even < top * 1000) [top, bottom] = [Math.max(top, even), Math.min(bottom, even)];
    const from = Math.floor(Math.log10(bottom) + 1e-9), to = Math.max(from + 1, Math.ceil(Math.log10(top) - 1e-9));
    y = (p) => (p <= 0 ? null : y0 - ((Math.log10(p) - from) / (to - from)) * (y0 - y1));
    for (let e = from; e <= to; e++) {
      const at = y(Math.pow(10, e));
      line("rule", x0, at, x1, at);
      text("t e", x0 - 7, at + 4, Math.pow(10, e).toFixed(Math.max(0, -e)));
    }
  } else {
    const ticks = ticksTo(top);
    y = (p) => y0 - (p / ticks.end) * (y0 - y1);
    for (let i = 0; i <= ticks.number; i++) {
      const at = i * ticks.step;
      line("rule", x0, y(at), x1, y(at));
      text("t e", x0 - 7, y(at) + 4, ticks.label(i));
    }
  }
  for (let ms = 1; ms <= most; ms *= 10) {
    if (ms < least) continue;
    line("tick", x(ms), y0, x(ms), y0 + 5);
    text(ms === most ? "t e" : "t m", x(ms), y0 + 19, duration(ms));
  }
  for (const i of t.grid) line("study", x(windows[i]), y1, x(windows[i]), y0);
  text("t s", x0 - s.left + 4, 16, "redundancy, % of cold load attempts" + (view.scale === "log" ? ", logarithmic" : " (joins ÷ attempts)"));
  text("t m", (x0 + x1) / 2, s.h - 22, "effective window W_eff = W × s, logarithmic");
  text("t m", (x0 + x1) / 2, s.h - 6, "(load window × load factor)");

  if (view.mark) {
    const at = x(Math.min(Math.max(view.mark.window, least), most));
    line("cursor", at, y1, at, y0);
    const even = view.mark.breakEven === null ? null : y(view.mark.breakEven * 100);
    if (even !== null && even >= y1 && even <= y0) line("even", x0, even, x1, even);
  }

  // On a logarithmic scale there is no place for 0: a line is broken there.
  const down = (share) => Math.min(y(share * 100) ?? y0, y0);
  const path = (c, measure) => {
    let d = "", open = false;
    for (let i = 0; i <= last; i++) {
      const at = y(value(c, measure, i) * 100);
      if (at === null) {
        open = false;
        continue;
      }
      d += (open ? "L" : "M") + n(x(windows[i])) + " " + n(at);
      open = true;
    }
    return d;
  };
  if (band) {
    for (const c of curves) {
      let d = "";
      for (let i = 0; i <= last; i++) d += (i ? "L" : "M") + n(x(windows[i])) + " " + n(down(value(c, band[0], i)));
      for (let i = last; i >= 0; i--) d += "L" + n(x(windows[i])) + " " + n(down(value(c, band[1], i)));
      put(`<path class="band ${classOf(c)}" d="${d}Z"/>`);
    }
  }
  for (const c of curves) put(`<path class="line ${classOf(c)}" d="${path(c, REDUNDANCY)}"/>`);
  for (const c of curves) {
    for (const i of t.grid) {
      const at = y(value(c, REDUNDANCY, i) * 100);
      if (at !== null) put(`<circle class="dot ${classOf(c)}" cx="${n(x(windows[i]))}" cy="${n(at)}" r="2.6"/>`);
    }
  }
  if (view.at !== undefined) line("cursor", x(windows[view.at]), y1, x(windows[view.at]), y0);
  put("</svg>");
  return out.join("");
}

// coincide says where lines cannot be told apart. See coincide in curve.go.
function coincide(curves) {
  const apart = (other) => {
    let most = -1;
    curves.forEach((a, k) => {
      for (const b of curves.slice(k + 1)) {
        if (!other(a, b)) continue;
        for (let i = 0; i < a.attempts.length; i++) most = Math.max(most, Math.abs(value(a, REDUNDANCY, i) - value(b, REDUNDANCY, i)));
      }
    });
    return most;
  };
  const said = [];
  const one = (what, most) => {
    if (most === 0) said.push(`The two ${what} are one and the same line.`);
    else if (most > 0) said.push(`The two ${what} are never more than ${roughly(most)} points apart.`);
  };
  one("lookups", apart((a, b) => a.routing === b.routing && a.lookup !== b.lookup));
  one("routings", apart((a, b) => a.lookup === b.lookup && a.routing !== b.routing));
  return said.join(" ");
}

const plural = (k, thing) => (k === 1 ? `1 ${thing}` : `${count(k)} ${thing}s`);

function startCurve(article, t) {
  const section = article.querySelector("section.curve");
  const form = section.querySelector("form.choose"), read = section.querySelector(".read");
  if (!form) return;
  const plot = section.querySelector(".plot"), slider = read.querySelector("input"), body = read.querySelector("tbody");
  slider.max = t.windows.length - 1;
  slider.value = t.grid.length ? t.grid[t.grid.length - 1] : t.windows.length - 1;
  let moved = false;
  const draw = () => {
    const chosen = Object.fromEntries(new FormData(form));
    const curves = t.curves.filter(
      (c) =>
        c.instances === Number(chosen.instances) &&
        c.capacity === Number(chosen.capacity) &&
        (!chosen.lookup || c.lookup === chosen.lookup) &&
        (!chosen.routing || c.routing === chosen.routing),
    );
    const i = Number(slider.value);
    slider.setAttribute("aria-valuetext", duration(t.windows[i]));
    read.querySelector("output").textContent = duration(t.windows[i]);
    read.querySelector("caption").textContent = `At an effective window of ${duration(t.windows[i])}`;
    section.querySelector(".caption").textContent =
      `${plural(Number(chosen.instances), "instance")} of ${count(chosen.capacity)} blocks each, steady phase, equal timestamps simultaneous.`;
    section.querySelector(".coincide").textContent = coincide(curves);
    body.replaceChildren();
    if (curves.length === 0) {
      plot.textContent = "This combination was not run.";
      return;
    }
    const view = { band: chosen.band, scale: chosen.scale, at: moved ? i : undefined };
    plot.innerHTML = drawCurve(WIDE, t, curves, view) + drawCurve(NARROW, t, curves, view);
    for (const c of curves) {
      const row = body.insertRow();
      const head = document.createElement("th");
      head.scope = "row";
      head.textContent = `${c.lookup}, ${c.routing}`;
      row.append(head);
      const few = c.duplicate[i] < 30 ? "† " : "";
      for (const words of [
        percent(value(c, REDUNDANCY, i)),
        percent(value(c, WITHOUT, i)),
        percent(value(c, TIES_LOW, i)) + " – " + percent(value(c, TIES_HIGH, i)),
        percent(value(c, INTERVAL_LOW, i)) + " – " + percent(value(c, INTERVAL_HIGH, i)),
        few + count(c.duplicate[i]),
      ]) {
        const cell = row.insertCell();
        cell.className = "n";
        cell.textContent = words;
      }
    }
  };
  form.addEventListener("input", draw);
  form.addEventListener("submit", (e) => e.preventDefault());
  slider.addEventListener("input", () => {
    moved = true;
    draw();
  });
  form.hidden = read.hidden = false;
  draw();
}

// between returns the points of a curve around an effective window and the
// nearer of them. See TrafficAt in internal/decision/evidence.go, of which this
// and trafficOf are the mirror.
function between(windows, windowMS) {
  const last = windows[windows.length - 1];
  if (windowMS > last) {
    throw new Error(
      `the effective window of ${DECIDE.formatNumber(windowMS)} ms is beyond the curve, which ends at ${duration(last)}: ` +
        "run kvfanin study with --sensitivity and a --window as long",
    );
  }
  const above = windows.findIndex((w) => w >= windowMS);
  let below = above - 1, at = above;
  if (windows[above] === windowMS) below = above;
  else if (below >= 0 && windowMS * windowMS < windows[below] * windows[above]) at = below;
  return { below, above, at };
}

// trafficOf is what the run says of a curve's configuration under an effective
// window.
function trafficOf(t, c, windowMS) {
  const windows = t.windows;
  const { below, above, at } = between(windows, windowMS);
  const evidence = (first) => {
    const v = (measure, i) => value(c, first + measure, i);
    const e = { measured: v(REDUNDANCY, at), why: [] };
    e.low = e.high = e.measured;
    const span = (why, from, to) => {
      const low = below < 0 ? 0 : Math.min(v(from, above), v(from, below));
      const high = below < 0 ? v(to, above) : Math.max(v(to, above), v(to, below));
      e.why.push(`${why}: ${DECIDE.formatPercent(low)} % – ${DECIDE.formatPercent(high)} %`);
      e.low = Math.min(e.low, low);
      e.high = Math.max(e.high, high);
    };
    const drawn = t.grid.includes(above) && (below < 0 || t.grid.includes(below));
    span(drawn ? "equal timestamps" : "equal timestamps, at once or even", TIES_LOW, TIES_HIGH);
    span("95 % over time", INTERVAL_LOW, INTERVAL_HIGH);
    if (below !== above) {
      span(`measured at ${below < 0 ? "0 ms" : duration(windows[below])} and ${duration(windows[above])}`, REDUNDANCY, REDUNDANCY);
    }
    return e;
  };
  const each = (x) => (t.requests > 0 ? x / t.requests : 0);
  return {
    trace: t.name,
    configuration: { lookup: c.lookup, routing: c.routing, instances: c.instances, capacity_blocks: c.capacity, window_ms: windows[at] },
    requests_per_s: t.requests_per_s,
    lookups_per_request: each(c.lookups[at]),
    attempts_per_request: each(c.attempts[at]),
    block_tokens: DATA.block_tokens,
    redundancy: evidence(0),
    without_extensions: evidence(WITHOUT),
    duplicate_cohorts: c.duplicate[at],
    duplicate_cohorts_per_request: each(c.duplicate[at]),
    curve: windows.map((w, i) => ({ window_ms: w, redundancy: value(c, REDUNDANCY, i), without_extensions: value(c, WITHOUT, i) })),
    thresholds: (c.thresholds ?? []).map(({ share, window_ms, without_extensions }) => ({ share, window_ms, without_extensions })),
  };
}

// over decides for every curve of a trace, as Over in internal/decision/over.go
// does: for the one with the largest redundancy, and counts the others.
function over(t, inputs, windowMS) {
  const verdicts = {};
  let best = null;
  for (const curve of t.curves) {
    const traffic = trafficOf(t, curve, windowMS);
    const d = DECIDE.decide(inputs, traffic);
    const verdict = d.verdict.split(" by this trace")[0];
    verdicts[verdict] = (verdicts[verdict] ?? 0) + 1;
    if (best === null || traffic.redundancy.measured > best.traffic.redundancy.measured) best = { curve, traffic, d, verdict };
  }
  verdicts[best.verdict]--;
  return { ...best, elsewhere: elsewhere(t.curves.length - 1, verdicts["not justified"] ?? 0, verdicts.undecided ?? 0, verdicts.justified ?? 0) };
}

function elsewhere(others, notJustified, undecided, justified) {
  if (others === 0) return "It is the only configuration run.";
  return `It has the largest redundancy at that window of all configurations run. Of the ${plural(others, "other")} ${notJustified} come out not justified, ${undecided} undecided, ${justified} justified.`;
}

// three rounds to three digits, as a slider gives them.
const three = (x) => Number(x.toPrecision(3));

function startDecision(article, t) {
  const form = article.querySelector("form.decide");
  if (!form) return;
  const section = form.closest("section");
  const problem = section.querySelector(".problem"), result = section.querySelector(".result"), plot = section.querySelector(".plot");
  const out = (name) => section.querySelector(`[data-out="${name}"]`);
  const list = (name, items) => {
    out(name).replaceChildren(
      ...items.map((words) => {
        const li = document.createElement("li");
        li.append(...[words].flat());
        return li;
      }),
    );
  };
  const fill = (cells, texts) => cells.forEach((cell, i) => (cell.textContent = texts[i]));
  const numbers = [...form.querySelectorAll('input[type="number"]')];
  const ranges = [...form.querySelectorAll('input[type="range"]')];

  const place = (range) => {
    const x = Number(form.elements[range.dataset.for].value) || 0;
    // What is not given stands in for 1, or for the load latency.
    const shown = x > 0 ? x : range.dataset.for === "load_factor" ? 1 : range.dataset.for === "load_cost_ms" ? Number(form.elements.load_ms.value) || 1 : 0;
    range.value = shown > 0 ? Math.round(100 * Math.log10(shown)) : range.min;
    range.setAttribute("aria-valuetext", x > 0 ? DECIDE.formatNumber(x) : "not given");
  };

  const show = () => {
    const inputs = { model: form.elements.model.value };
    for (const field of numbers) inputs[field.name] = field.value === "" ? 0 : Number(field.value);
    ranges.forEach(place);
    const axes = ["lookup", "routing", "instances", "capacity"];
    let curve, d, window, others = "";
    try {
      window = inputs.load_ms * (inputs.load_factor || 1);
      if (form.elements.which.value === "") {
        if (window > 0) ({ curve, d, elsewhere: others } = over(t, inputs, window));
        else d = DECIDE.decide(inputs, trafficOf(t, t.curves[0], 1)); // says what is missing
        for (const name of axes) form.elements[name].value = curve[name];
      } else {
        curve = t.curves.find((c) => axes.every((name) => String(c[name]) === form.elements[name].value));
        if (!curve) throw new Error("this combination was not run");
        d = DECIDE.decide(inputs, trafficOf(t, curve, window > 0 ? window : 1));
      }
    } catch (e) {
      problem.textContent = e.message[0].toUpperCase() + e.message.slice(1) + ".";
      problem.hidden = false;
      result.hidden = true;
      return;
    }
    problem.hidden = true;
    result.hidden = false;
    out("verdict").textContent = d.verdict;
    out("window").textContent = `${DECIDE.formatNumber(window)} ms`;
    out("configuration").textContent = `${curve.lookup}, ${curve.routing}, ${plural(curve.instances, "instance")} of ${count(curve.capacity)} blocks each`;
    out("elsewhere").textContent = others;
    list("because", d.because);
    list("notes", d.notes);
    list(
      "crossings",
      d.crossings.map((c) => {
        const words = [`${c.joins === "all" ? "All joins" : "Without extensions"} reach the break-even: ${c.text}`];
        if (c.command) {
          const code = document.createElement("code");
          code.textContent = c.command;
          words.push(" ", code);
        }
        return words;
      }),
    );
    for (const row of section.querySelectorAll("tr[data-reading]")) {
      const format = row.dataset.reading === "redundancy" ? DECIDE.formatPercent : DECIDE.formatNumber;
      fill(
        row.querySelectorAll("td.n"),
        d.readings.map((r) => format(r.steps[row.dataset.reading] ?? d.steps[row.dataset.reading]).replace(/^-/, "−")),
      );
    }
    for (const row of section.querySelectorAll("tr[data-step]")) {
      const x = d.steps[row.dataset.step];
      fill(row.querySelectorAll("td.n"), [x === undefined ? "–" : row.lastElementChild.textContent === "B" ? count(x) : DECIDE.formatNumber(x)]);
    }
    for (const row of section.querySelectorAll("tr[data-owner]")) {
      fill(
        row.querySelectorAll("td.n"),
        d.ownership.map((o) => (o[row.dataset.owner] === null ? "-" : DECIDE.formatNumber(o[row.dataset.owner]))),
      );
    }
    const view = { band: "without", scale: "log", mark: { window, breakEven: d.break_even_redundancy } };
    if (plot) plot.innerHTML = [WIDE, NARROW].map((s) => drawCurve({ ...s, h: 320 }, t, [curve], view)).join("");
  };

  for (const range of ranges) {
    range.addEventListener("input", (e) => {
      e.stopPropagation();
      form.elements[range.dataset.for].value = three(Math.pow(10, range.value / 100));
      show();
    });
  }
  form.addEventListener("input", (e) => {
    // Who chooses a part of the configuration has chosen it.
    if (["lookup", "routing", "instances", "capacity"].includes(e.target.name)) form.elements.which.value = "chosen";
    show();
  });
  form.addEventListener("submit", (e) => e.preventDefault());
  form.hidden = false;
  show();
}

// One trace at a time, where there are several.
function startTraces(articles) {
  const nav = document.querySelector("nav.traces");
  const buttons = articles.map((article) => {
    const b = document.createElement("button");
    b.type = "button";
    b.textContent = article.dataset.name;
    b.addEventListener("click", () => show(article));
    nav.append(b);
    return b;
  });
  function show(article) {
    articles.forEach((a, i) => {
      a.hidden = a !== article;
      buttons[i].setAttribute("aria-pressed", String(a === article));
    });
  }
  const named = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const article = target && target.closest("article.trace");
    if (article && article.hidden) {
      show(article);
      target.scrollIntoView();
    }
  };
  nav.hidden = false;
  document.querySelector("main").classList.add("one-by-one");
  show(articles[0]);
  named();
  addEventListener("hashchange", named);
}

const articles = [...document.querySelectorAll("article.trace")];
articles.forEach((article, i) => {
  startCurve(article, DATA.traces[i]);
  startDecision(article, DATA.traces[i]);
});
if (articles.length > 1) startTraces(articles);

// On paper nothing is folded but the figures of the charts.
addEventListener("beforeprint", () => {
  for (const d of document.querySelectorAll("details[data-paper]:not([open])")) {
    d.open = true;
    d.dataset.paper = "opened";
  }
});
addEventListener("afterprint", () => {
  for (const d of document.querySelectorAll('details[data-paper="opened"]')) {
    d.open = false;
    d.dataset.paper = "";
  }
});
