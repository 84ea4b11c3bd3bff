// The arithmetic of decide.go once more, for a page that recomputes while a
// person moves a slider. Same formulas, same order, same words: a test runs
// both over the same inputs and compares every digit. Change both or neither.
//
// decide(inputs, traffic) takes the JSON forms of Inputs and Traffic and
// returns the part of a Decision that depends on them, its steps as an object
// from name to value. It throws an Error with the message that Decide returns.

const models = {
  "Llama-3-8B": 2 * 32 * 8 * 128 * 2,
  "Llama-3-70B": 2 * 80 * 8 * 128 * 2,
  "Qwen3-8B": 2 * 36 * 8 * 128 * 2,
  "Qwen3-235B-A22B": 2 * 94 * 4 * 128 * 2,
  "DeepSeek-V3": 61 * (512 + 64) * 2,
};

// Name and largest value of every input that is a number.
const fields = [
  ["requests_per_s", 1e9],
  ["load_factor", 1e6],
  ["load_ms", 1e9],
  ["bytes_per_token", 1e15],
  ["bytes_per_block", 1e15],
  ["bandwidth_gb_per_s", 1e9],
  ["fixed_ms", 1e9],
  ["load_cost_ms", 1e9],
  ["table_us", 1e12],
  ["lock_us", 1e12],
  ["wait_us", 1e12],
  ["owner_failure_share", 1],
  ["owner_failure_ms", 1e9],
  ["timeout_share", 1],
  ["timeout_ms", 1e9],
  ["slow_owner_share", 1],
  ["slow_owner_extra_ms", 1e9],
  ["deadline_ms", 1e9],
];

// checked returns every input as a number, or throws.
function checked(inputs) {
  const x = {};
  for (const [name, max] of fields) {
    x[name] = inputs[name] ?? 0;
    if (!(x[name] >= 0 && x[name] <= max)) throw new Error(`${name} is ${x[name]}, want a number from 0 to ${max}`);
    if (x[name] > 0 && x[name] < 1e-12) throw new Error(`${name} is ${x[name]}, want 0 or at least 1e-12`);
  }
  x.model = inputs.model ?? "";
  if (x.model !== "" && !Object.hasOwn(models, x.model)) {
    throw new Error(`model is ${JSON.stringify(x.model)}, want one of ${Object.keys(models).join(", ")}`);
  }
  const sizes = ["model", "bytes_per_token", "bytes_per_block"].filter((name) => x[name]);
  if (sizes.length > 1) throw new Error(`${sizes[0]} and ${sizes[1]} both say how large a block is: give one`);
  if (x.load_ms > 0 && x.bandwidth_gb_per_s > 0) {
    throw new Error("load_ms and bandwidth_gb_per_s both say how long a load takes: give one");
  }
  if (x.load_ms > 0 && x.fixed_ms > 0) {
    throw new Error("load_ms is the whole load and fixed_ms a part of it: give one");
  }
  if (x.load_ms === 0 && (sizes.length === 0 || x.bandwidth_gb_per_s === 0)) {
    throw new Error(
      "the load latency is missing: give load_ms, or bandwidth_gb_per_s and one of model, bytes_per_token, bytes_per_block",
    );
  }
  return x;
}

function decide(inputs, traffic) {
  const x = checked(inputs);
  const t = traffic;
  const steps = {};

  let perToken = x.bytes_per_token;
  if (x.model !== "") perToken = steps.bytes_per_token = models[x.model];
  let bytesPerBlock = x.bytes_per_block;
  if (perToken > 0) {
    if (t.block_tokens <= 0) throw new Error(`the trace's blocks have ${t.block_tokens} tokens: give bytes_per_block`);
    bytesPerBlock = steps.bytes_per_block = perToken * t.block_tokens;
  }
  let loadMS = x.load_ms;
  if (loadMS === 0) {
    loadMS = bytesPerBlock / (x.bandwidth_gb_per_s * 1e6) + x.fixed_ms;
    if (!(loadMS <= 1e9)) {
      throw new Error(`a load would take ${formatNumber(loadMS)} ms: bandwidth_gb_per_s is ${x.bandwidth_gb_per_s}, want more`);
    }
    steps.load_ms = loadMS;
  }
  const requests = x.requests_per_s || t.requests_per_s;
  if (requests === 0) {
    throw new Error(
      "requests_per_s is not given and the trace has no rate of its own (all requests of the steady phase share one timestamp): give requests_per_s",
    );
  }

  const s = x.load_factor || 1;
  const loadCost = x.load_cost_ms || loadMS;
  steps.effective_window_ms = loadMS * s;
  const offered = (steps.offered_requests_per_s = requests * s);
  steps.lookups_per_s = offered * t.lookups_per_request;
  const coldLoads = (steps.cold_loads_per_s = offered * t.attempts_per_request);
  const us = (steps.coordination_us_per_lookup = x.table_us + x.lock_us + x.wait_us);
  const coordination = (steps.coordination_ms_per_s = (steps.lookups_per_s * us) / 1000);
  const perLoad = (steps.owner_ms_per_load = x.owner_failure_share * x.owner_failure_ms + x.timeout_share * x.timeout_ms);
  const cut = x.deadline_ms > 0 && x.deadline_ms < x.slow_owner_extra_ms;
  const wait = (steps.follower_wait_ms = cut ? x.deadline_ms : x.slow_owner_extra_ms);
  const perJoin = (steps.follower_ms_per_join = x.slow_owner_share * wait);
  const lostByJoin = (steps.lost_ms_per_join = cut ? x.slow_owner_share * loadCost : 0);

  const evidence = [
    ["all", t.redundancy],
    ["without_extensions", t.without_extensions],
  ];
  const readings = [];
  for (const [joins, e] of evidence) {
    for (const bound of ["measured", "low", "high"]) {
      readings.push({ joins, bound, steps: reading(e[bound], coldLoads, coordination, loadCost, perLoad, perJoin, lostByJoin) });
    }
  }

  let breakEven = null;
  let why = "";
  if (t.attempts_per_request === 0) {
    why = "the trace has no cold load in this configuration, so there is nothing to avoid";
  } else {
    const onLookups = ((t.lookups_per_request / t.attempts_per_request) * us) / 1000;
    const price = (steps.price_ms_per_attempt = onLookups + perLoad);
    const gain = (steps.gain_ms_per_join = loadCost + perLoad - perJoin - lostByJoin);
    if (gain <= 0) {
      why = "a join costs its followers as much as the load it avoids, or more";
    } else if (price / gain > 1) {
      why = "even if every attempt joined, the loads avoided would not pay for the coordination";
    } else {
      breakEven = steps.break_even_redundancy = price / gain;
    }
  }

  return {
    ...judge(evidence, breakEven, why, t.duplicate_cohorts),
    steps,
    readings,
    break_even_redundancy: breakEven,
    break_even_why: why,
    crossings: evidence.map(([joins]) => crossing(t, joins, breakEven, loadMS)),
    ownership: ownership(x, t, bytesPerBlock, offered, coldLoads, readings[0].steps),
    notes: notes(x, t, bytesPerBlock, us, steps.effective_window_ms),
  };
}

function reading(redundancy, coldLoads, coordination, loadCost, perLoad, perJoin, lostByJoin) {
  const joins = coldLoads * redundancy;
  const cohorts = coldLoads - joins;
  const avoidable = joins * loadCost;
  const owners = cohorts * perLoad;
  const followers = joins * perJoin;
  const lost = joins * lostByJoin;
  return {
    redundancy,
    joins_per_s: joins,
    cohorts_per_s: cohorts,
    avoidable_ms_per_s: avoidable,
    owners_ms_per_s: owners,
    followers_ms_per_s: followers,
    lost_ms_per_s: lost,
    net_ms_per_s: avoidable - coordination - owners - followers - lost,
  };
}

const notJustified = "not justified by this trace";
const justified = "justified by this trace: run a system benchmark";
const undecided = "undecided";

function judge(evidence, breakEven, why, duplicateCohorts) {
  if (breakEven === null) return { verdict: notJustified, because: [`It never breaks even: ${why}.`] };
  const because = [];
  const verdicts = evidence.map(([joins, e]) => {
    let verdict = undecided;
    let how = "spans";
    if (e.high < breakEven || e.high === 0) [verdict, how] = [notJustified, "is not above"];
    else if (e.low > breakEven) [verdict, how] = [justified, "is above"];
    let text =
      `${joins === "all" ? "All joins" : "Without extensions"}: redundancy ${formatPercent(e.measured)} % ` +
      `(${formatPercent(e.low)} % – ${formatPercent(e.high)} %) ${how} the break-even of ${formatPercent(breakEven)} %.`;
    if (verdict === undecided && e.why?.length > 0) text += ` The range is over ${e.why.join("; ")}.`;
    because.push(text);
    return verdict;
  });
  if (verdicts[0] === verdicts[1]) {
    let verdict = verdicts[0];
    if (verdict !== justified) return { verdict, because };
    if (duplicateCohorts < 30) {
      verdict = undecided;
      because.push(`That is over ${duplicateCohorts} duplicate cohorts, and fewer than 30 justify nothing.`);
    }
    if (breakEven === 0) {
      verdict = undecided;
      because.push("No cost of coordination was given, and no system has none.");
    }
    return { verdict, because };
  }
  const [withThem, withoutThem] = verdicts.map((v) => v.split(" by this trace")[0]);
  because.push(
    `Extensions decide: with them it is ${withThem}, without them ${withoutThem}. ` +
      "A closed loop may forbid those joins, and an open-loop replay cannot tell.",
  );
  return { verdict: undecided, because };
}

function crossing(t, joins, breakEven, loadMS) {
  const c = {
    joins, reached: false, exact: false, after_ms: 0, window_ms: 0, after_load_factor: 0, load_factor: 0,
    falls_ms: [], text: "", command: "",
  };
  const study = "kvfanin study ... --sensitivity";
  const curve = t.curve ?? [];
  if (breakEven === null) {
    c.text = "Never: there is no break-even.";
    return c;
  }
  if (curve.length === 0) {
    c.command = study;
    c.text = "Not known: no curve was run.";
    return c;
  }
  const reaches = (p) => {
    const r = joins === "all" ? p.redundancy : p.without_extensions;
    return r > 0 && r >= breakEven;
  };
  const first = curve.findIndex(reaches);
  curve.forEach((p, i) => {
    if (i > 0 && !reaches(p) && reaches(curve[i - 1])) c.falls_ms.push(p.window_ms);
  });
  let measured = false;
  for (const m of t.thresholds ?? []) {
    if (m.share === breakEven && m.without_extensions === (joins !== "all") && m.share > 0) {
      measured = true;
      c.after_ms = c.window_ms = m.window_ms;
      c.exact = c.reached = m.window_ms > 0;
    }
  }
  if (!measured && first >= 0) {
    c.reached = true;
    c.window_ms = curve[first].window_ms;
    if (first > 0) c.after_ms = curve[first - 1].window_ms;
  }
  c.after_load_factor = c.after_ms / loadMS;
  c.load_factor = c.window_ms / loadMS;
  const at = formatDuration(c.window_ms);
  const s = formatNumber(c.load_factor);
  if (!c.reached) {
    c.text = `Never within the range run (${formatDuration(curve[0].window_ms)} to ${formatDuration(curve[curve.length - 1].window_ms)}).`;
  } else if (c.exact) {
    c.text = `At W_eff = ${at}, which is s = ${s} at this W; measured to the ms.`;
  } else if (c.after_ms === 0) {
    c.text = `At W_eff = ${at} already, the smallest window run, which is s = ${s} at this W.`;
  } else {
    c.text =
      `Between W_eff = ${formatDuration(c.after_ms)} and ${at}, which is ` +
      `s = ${formatNumber(c.after_load_factor)} to ${s} at this W.`;
    if (breakEven > 0) c.command = `${study} --threshold ${breakEven}`;
  }
  if (c.falls_ms.length > 0) c.text += ` The curve is below it again at ${c.falls_ms.map(formatDuration).join(", ")}.`;
  return c;
}

function ownership(x, t, bytesPerBlock, offered, attempts, measured) {
  const joins = measured.joins_per_s;
  const cohorts = measured.cohorts_per_s;
  const duplicates = offered * t.duplicate_cohorts_per_request;
  const waiting = joins * x.slow_owner_share;
  const wait = waiting * x.slow_owner_extra_ms;
  const cut = x.deadline_ms > 0 && x.deadline_ms < x.slow_owner_extra_ms;
  const back = cut ? waiting * (x.slow_owner_extra_ms - x.deadline_ms) : 0;
  const gets = cut ? waiting : 0;
  const row = (design, lookups, specs, getCount, blocks, copies, prefills, waits, backs, getsBack) => ({
    design,
    lookups_per_s: lookups,
    load_specs_per_s: specs,
    queue_entries_per_s: specs,
    gets_per_s: getCount,
    bytes_per_s: bytesPerBlock > 0 ? getCount * bytesPerBlock : null,
    gpu_blocks_per_s: blocks,
    copies_per_s: copies,
    prefills_per_s: prefills,
    wait_ms_per_s: waits,
    deadline_ms_per_s: backs,
    deadline_gets_per_s: getsBack,
  });
  return [
    row("today", attempts, attempts, attempts, attempts, 0, 0, 0, 0, 0),
    row("get_layer", attempts, attempts, cohorts, attempts, joins, 0, wait, 0, 0),
    row("park", attempts, cohorts, cohorts, cohorts, 0, 0, wait, back, gets),
    row("recompute", attempts - duplicates, cohorts, cohorts, cohorts + duplicates, 0, duplicates, 0, 0, 0),
    row("attach", cohorts, cohorts, cohorts, cohorts, 0, 0, wait, back, gets),
  ];
}

function notes(x, t, bytesPerBlock, us, window) {
  const list = [];
  const note = (when, text) => {
    if (when) list.push(text);
  };
  note(
    t.attempts_per_request > 1,
    `A load is of one block here, and a request has ${formatNumber(t.attempts_per_request)} of them on average. ` +
      "Where one Get serves several blocks, load_cost_ms is to be a block's part of it.",
  );
  note(us === 0, "table_us, lock_us and wait_us are 0 or not given: coordination costs nothing on any lookup here, which no system has.");
  note(t.duplicate_cohorts < 30, `Fewer than 30 duplicate cohorts stand behind the redundancy: ${t.duplicate_cohorts}.`);
  const measured = t.configuration.window_ms;
  note(measured !== window, `The evidence is of a window of ${formatDuration(measured)}; W_eff is ${formatNumber(window)} ms.`);
  for (const [share, ms] of [
    ["owner_failure_share", "owner_failure_ms"],
    ["timeout_share", "timeout_ms"],
    ["slow_owner_share", "slow_owner_extra_ms"],
  ]) {
    note(x[share] > 0 && x[ms] === 0, `${share} has no effect: ${ms} is 0 or not given.`);
    note(x[ms] > 0 && x[share] === 0, `${ms} has no effect: ${share} is 0 or not given.`);
  }
  note(x.deadline_ms > 0 && x.deadline_ms >= x.slow_owner_extra_ms, "deadline_ms has no effect: no follower waits that long.");
  note(bytesPerBlock === 0, "Bytes are not known: give model, bytes_per_token or bytes_per_block to see them.");
  return list;
}

// The figures as FormatNumber, FormatPercent and FormatDuration print them.

function formatNumber(x) {
  if (x === 0) return "0";
  if (x < 0) return "-" + formatNumber(-x);
  if (x >= 1e6 || x < 1e-3) return scientific(x);
  let decimals = 6;
  for (const from of [1e-2, 1e-1, 1, 10, 100, 1000]) {
    if (x >= from) decimals--;
  }
  return group(trim(x.toFixed(decimals)));
}

function formatPercent(share) {
  const percent = 100 * share;
  return percent > 0 && percent < 1e-4 ? scientific(percent) : percent.toFixed(6);
}

function formatDuration(ms) {
  if (ms < 1000) return `${ms} ms`;
  return group(trim(`${Math.floor(ms / 1000)}.${String(1000 + (ms % 1000)).slice(1)}`)) + " s";
}

function scientific(x) {
  let e = 0;
  for (; x >= 10; e++) x /= 10;
  for (; x < 1; e--) x *= 10;
  let digits = x.toFixed(3);
  if (digits === "10.000") {
    digits = "1.000";
    e++;
  }
  return `${trim(digits)}e${e}`;
}

function trim(s) {
  return s.includes(".") ? s.replace(/\.?0+$/, "") : s;
}

function group(s) {
  const [whole, decimals] = s.split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return decimals === undefined ? grouped : `${grouped}.${decimals}`;
}
