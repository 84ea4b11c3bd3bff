package page_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	gocmp "github.com/google/go-cmp/cmp"

	"kvfanin/internal/decision"
	"kvfanin/internal/findings"
	"kvfanin/internal/page"
	"kvfanin/internal/report"
)

// browser starts Chromium, in which each test opens its tabs. Without one the
// test is skipped, or fails where everything has to run.
func browser(t *testing.T) context.Context {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "headless-shell"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		if os.Getenv("KVFANIN_REQUIRE_ALL") == "1" {
			t.Fatal("needed here: Chromium, as chromium or google-chrome")
		}
		t.Skip("needs Chromium, as chromium or google-chrome")
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop)
	ctx, cancel := chromedp.NewContext(allocator)
	t.Cleanup(func() {
		limit, cancelled := context.WithTimeout(ctx, 10*time.Second)
		defer cancelled()
		_ = chromedp.Cancel(limit) // what it leaves behind, stop ends
		cancel()
	})
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// tab is a page opened in a browser, with what it asked for and complained of.
type tab struct {
	*testing.T
	ctx context.Context

	mu       sync.Mutex
	requests []string
	messages []string
}

// how a page is opened.
type how struct {
	width     int64
	dark      bool
	print     bool
	noScripts bool
}

// open opens a page from a file.
func open(in context.Context, t *testing.T, html []byte, h how) *tab {
	t.Helper()
	file := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(file, html, 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := chromedp.NewContext(in)
	t.Cleanup(cancel)
	ctx, done := context.WithTimeout(ctx, time.Minute)
	t.Cleanup(done)
	p := &tab{T: t, ctx: ctx}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(chromedp.Listen(ctx, func(event any) {
		if e, ok := event.(*network.EventRequestWillBeSent); ok {
			p.mu.Lock()
			p.requests = append(p.requests, e.Request.URL)
			p.mu.Unlock()
		}
	}))
	console := chromedp.Console(ctx)
	go func() {
		for m, err := range console {
			if err != nil {
				return
			}
			p.mu.Lock()
			p.messages = append(p.messages, m.String())
			p.mu.Unlock()
		}
	}()
	_, err := chromedp.Call(ctx, network.Enable, network.EnableParams{})
	check(err)
	if h.width == 0 {
		h.width = 1440
	}
	check(chromedp.Do(ctx, chromedp.EmulateViewport(h.width, 900)))
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: map[bool]string{true: "dark", false: "light"}[h.dark]}}}
	if h.print {
		media.Media = "print"
	}
	_, err = chromedp.Call(ctx, emulation.SetEmulatedMedia, media)
	check(err)
	if h.noScripts {
		_, err = chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		check(err)
	}
	check(chromedp.Do(ctx, chromedp.Navigate("file://"+file)))
	return p
}

// quiet holds that the page asked for itself only and complained of nothing.
func (p *tab) quiet() {
	p.Helper()
	time.Sleep(50 * time.Millisecond) // what is under way arrives
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.messages) > 0 {
		p.Errorf("on the console: %q", p.messages)
	}
	files := 0
	for _, url := range p.requests {
		switch {
		case strings.HasPrefix(url, "file://") && files == 0:
			files++
		case strings.HasPrefix(url, "data:"):
		default:
			p.Errorf("asks for %s", url)
		}
	}
	if files == 0 {
		p.Error("no request was seen, not even for the page")
	}
}

func eval[T any](p *tab, expression string) T {
	p.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		p.Fatalf("%v: %s", err, expression)
	}
	return v
}

// object decodes what an expression gives, by way of its JSON.
func object[T any](p *tab, expression string) (v T) {
	p.Helper()
	if err := json.Unmarshal([]byte(eval[string](p, "JSON.stringify("+expression+")")), &v); err != nil {
		p.Fatal(err)
	}
	return v
}

func quote(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// TestBrowser opens pages in Chromium.
func TestBrowser(t *testing.T) {
	in := browser(t)
	d := fixture()
	html := write(t, d, page.Options{})
	comparison := fixtureComparison(t)

	t.Run("asks for nothing and complains of nothing", func(t *testing.T) {
		pages := map[string][]byte{"run": html, "comparison": comparison}
		for name, trace := range map[string]string{"one request": oneRequest, "no repeats": noRepeats, "one instant": oneInstant, "small": smallTrace} {
			text := runOf(t, trace, "--sensitivity")
			pages[name] = []byte(text)
		}
		text := runOf(t, smallTrace)
		pages["no sensitivity"] = []byte(text)
		for name, html := range pages {
			t.Run(name, func(t *testing.T) { open(in, t, html, how{}).quiet() })
		}
	})

	t.Run("the script draws what stands in the page", func(t *testing.T) {
		p := open(in, t, html, how{})
		same := `(() => {
			const wanted = new DOMParser().parseFromString(WANTED, "text/html").querySelectorAll(".plot");
			return [...document.querySelectorAll(".plot")].map((p, i) => p.innerHTML === wanted[i].innerHTML ? "" : p.innerHTML.slice(0, 3000) + "\n\n" + wanted[i].innerHTML.slice(0, 3000));
		})()`
		plots := eval[[]string](p, strings.Replace(same, "WANTED", quote(string(html)), 1))
		if len(plots) != 4 {
			t.Errorf("%d plots, want a curve and a decision for each trace", len(plots))
		}
		for i, differs := range plots {
			if differs != "" {
				t.Errorf("plot %d differs:\n%s", i, differs)
			}
		}
		text := eval[[]string](p, strings.Replace(`(() => {
			const wanted = new DOMParser().parseFromString(WANTED, "text/html");
			const all = (d) => [...d.querySelectorAll(".caption, .coincide, .result td, .result th, .result li, [data-out]")].map((e) => e.textContent);
			const is = all(document), was = all(wanted);
			return is.flatMap((text, i) => text === was[i] ? [] : [text + " instead of " + was[i]]);
		})()`, "WANTED", quote(string(html)), 1))
		if len(text) > 0 {
			t.Errorf("the script writes something else than stands in the page: %q", text)
		}
		p.quiet()
	})

	t.Run("choosing a curve", func(t *testing.T) { chooseCurve(in, t, d, html) })
	t.Run("what the script decides is what Decide gives", func(t *testing.T) { decides(in, t, d, html) })

	t.Run("without scripts", func(t *testing.T) {
		p := open(in, t, html, how{noScripts: true})
		// An expression of ours still runs: only the page's own script does not.
		if eval[bool](p, "!document.querySelector('nav.traces').hidden || [...document.forms].some((f) => !f.hidden)") {
			t.Error("a control that does nothing is shown")
		}
		if hidden := eval[int](p, "[...document.querySelectorAll('article, section, table, svg.wide, p')].filter((e) => e.closest('[hidden]') && !e.closest('.read') && !e.matches('.problem')).length"); hidden > 0 {
			t.Errorf("%d parts are hidden", hidden)
		}
		rows := func(p *tab) map[string]int {
			return object[map[string]int](p, `Object.fromEntries([...document.querySelectorAll("section.exhibit[id]")].map((e) => [e.id, e.querySelectorAll("tr").length]))`)
		}
		want := rows(open(in, t, html, how{}))
		if d := gocmp.Diff(want, rows(p)); d != "" {
			t.Errorf("tables differ (-with scripts +without):\n%s", d)
		}
		for _, name := range []string{"redundancy", "shares", "lookups", "affinity", "concentration", "positions", "cohorts", "ties", "uncertainty", "routing", "thresholds", "falls", "reuse", "arrivals", "profile", "decide"} {
			for i := range d.Traces {
				if id := d.Traces[i].Source.Name + "-" + name; want[id] < 2 {
					t.Errorf("%s has %d rows", id, want[id])
				}
			}
		}
		p.quiet()
	})

	t.Run("tables", func(t *testing.T) {
		for name, html := range map[string][]byte{"run": html, "comparison": comparison} {
			p := open(in, t, html, how{})
			wrong := eval[[]string](p, `[...document.querySelectorAll("table")].flatMap((t) => {
				const said = [], name = t.caption?.textContent.slice(0, 60) ?? t.outerHTML.slice(0, 200);
				if (!t.caption?.textContent.trim()) said.push("no caption");
				if ([...t.querySelectorAll("th")].some((h) => !h.scope)) said.push("a head without scope");
				const widths = new Set(), open = [];
				for (const r of t.rows) {
					const over = open.filter((o) => o.left > 0).reduce((n, o) => n + o.wide, 0);
					open.forEach((o) => o.left--);
					let n = over;
					for (const c of r.cells) {
						n += c.colSpan;
						if (c.rowSpan > 1) open.push({ left: c.rowSpan - 1, wide: c.colSpan });
					}
					widths.add(n);
				}
				if (widths.size > 1) said.push("rows of " + [...widths] + " columns");
				return said.map((s) => name + ": " + s);
			})`)
			if len(wrong) > 0 {
				t.Errorf("%s: %q", name, wrong)
			}
		}
	})

	t.Run("a narrow screen", func(t *testing.T) {
		for name, html := range map[string][]byte{"run": html, "comparison": comparison} {
			for _, width := range []int64{320, 390, 768, 1024} {
				p := open(in, t, html, how{width: width})
				got := eval[[]int64](p, `[...document.querySelectorAll("article")].map((a, i, all) => {
					all.forEach((b) => { b.hidden = b !== a; });
					a.querySelectorAll("details").forEach((d) => { d.open = true; });
					return document.documentElement.scrollWidth;
				})`)
				for _, w := range got {
					if w > width {
						t.Errorf("%s: a screen of %d is scrolled sideways, to %d", name, width, w)
					}
				}
			}
		}
	})

	t.Run("contrast", func(t *testing.T) {
		for _, dark := range []bool{false, true} {
			p := open(in, t, html, how{dark: dark})
			colours := object[map[string][3]float64](p, `(() => {
				const style = getComputedStyle(document.documentElement), probe = document.createElement("i");
				document.body.append(probe);
				return Object.fromEntries(["ground", "panel", "one", "ink", "soft", "a", "b"].map((name) => {
					probe.style.color = style.getPropertyValue("--" + name);
					return [name, getComputedStyle(probe).color.match(/[\d.]+/g).slice(0, 3).map(Number)];
				}));
			})()`)
			if isDark := luminance(colours["ground"]) < 0.2; isDark != dark {
				t.Errorf("dark %v: the ground is %v", dark, colours["ground"])
			}
			for _, text := range []string{"ink", "soft", "a", "b"} {
				for _, ground := range []string{"ground", "panel", "one"} {
					if c := contrast(colours[text], colours[ground]); c < 4.5 {
						t.Errorf("dark %v: %s on %s has a contrast of %.2f, want 4.5", dark, text, ground, c)
					}
				}
			}
		}
	})

	t.Run("the keyboard", func(t *testing.T) {
		p := open(in, t, html, how{})
		if unnamed := eval[[]string](p, `[...document.querySelectorAll("select, input, button, summary, a, [tabindex]")].filter((e) =>
			!(e.getAttribute("aria-label") || e.labels?.[0]?.textContent.trim() || e.textContent.trim())).map((e) => e.outerHTML)`); len(unnamed) > 0 {
			t.Errorf("without a name: %q", unnamed)
		}
		if wrong := eval[[]string](p, `[...document.querySelectorAll("[aria-labelledby]")].filter((e) => !document.getElementById(e.getAttribute("aria-labelledby"))).map((e) => e.id)`); len(wrong) > 0 {
			t.Errorf("named by what is not there: %q", wrong)
		}
		if twice := eval[[]string](p, `[...document.querySelectorAll("[id]")].map((e) => e.id).filter((id, i, all) => all.indexOf(id) !== i)`); len(twice) > 0 {
			t.Errorf("an id stands twice: %q", twice)
		}
		if dead := eval[[]string](p, `[...document.querySelectorAll('a[href^="#"]')].map((a) => a.hash.slice(1)).filter((id) => !document.getElementById(id))`); len(dead) > 0 {
			t.Errorf("links lead nowhere: %q", dead)
		}
		before := eval[string](p, `document.querySelector(".read input").focus(), document.querySelector(".read output").textContent`)
		if err := chromedp.Do(p.ctx, chromedp.KeyEvent(kb.ArrowLeft)); err != nil {
			t.Fatal(err)
		}
		if after := eval[string](p, `document.querySelector(".read output").textContent`); after == before {
			t.Errorf("the arrow key does not move the reading from %s", before)
		}
		// The tab key comes to the other trace's button, which then shows it.
		eval[bool](p, `document.querySelectorAll("nav.traces button")[0].focus(), true`)
		if err := chromedp.Do(p.ctx, chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter)); err != nil {
			t.Fatal(err)
		}
		if shown := eval[string](p, `[...document.querySelectorAll("article")].filter((a) => !a.hidden).map((a) => a.id).join()`); shown != "synthetic" {
			t.Errorf("shown is %q, want the second trace", shown)
		}
		p.quiet()
	})

	t.Run("print", func(t *testing.T) {
		p := open(in, t, html, how{print: true})
		if n := eval[int](p, `[...document.querySelectorAll("article")].filter((a) => a.offsetHeight > 0).length`); n != 2 {
			t.Errorf("%d traces are printed, want 2", n)
		}
		if eval[bool](p, `[...document.querySelectorAll("form, nav")].some((e) => e.offsetHeight > 0)`) {
			t.Error("a control is printed")
		}
	})
}

func luminance(c [3]float64) float64 {
	of := func(x float64) float64 {
		if x /= 255; x <= 0.04045 {
			return x / 12.92
		}
		return math.Pow((x+0.055)/1.055, 2.4)
	}
	return 0.2126*of(c[0]) + 0.7152*of(c[1]) + 0.0722*of(c[2])
}

// contrast is that of WCAG 2.
func contrast(a, b [3]float64) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// chooseCurve chooses each configuration and reads it at each window.
func chooseCurve(in context.Context, t *testing.T, d *report.Document, html []byte) {
	p := open(in, t, html, how{})
	f := d.Traces[0].Findings
	draw := rand.New(rand.NewPCG(1, 2))
	for range 40 {
		c := &f.Sensitivity.Curves[draw.IntN(len(f.Sensitivity.Curves))]
		at := draw.IntN(len(c.Points))
		band := []string{"without", "ties", "interval", "none"}[draw.IntN(4)]
		scale := []string{"linear", "log"}[draw.IntN(2)]
		got := object[struct {
			Output string
			Cells  []string
			SVG    string
		}](p, fmt.Sprintf(`(() => {
			const section = document.querySelector("section.curve"), form = section.querySelector("form"), slider = section.querySelector(".read input");
			for (const [name, value] of Object.entries(%s)) form.elements[name].value = value;
			slider.value = %d;
			form.dispatchEvent(new Event("input"));
			slider.dispatchEvent(new Event("input"));
			return {
				Output: section.querySelector(".read output").textContent,
				Cells: [...section.querySelectorAll(".read tbody tr > *")].map((e) => e.textContent),
				SVG: section.querySelector(".plot").innerHTML,
			};
		})()`, quote(map[string]any{"instances": c.Instances, "capacity": c.CapacityBlocks, "lookup": c.Lookup, "routing": c.Routing, "band": band, "scale": scale}), at))
		pt := &c.Points[at]
		behind := report.Count(pt.DuplicateCohorts)
		if pt.DuplicateCohorts < 30 {
			behind = "† " + behind
		}
		want := []string{
			c.Lookup + ", " + c.Routing, report.Percent(pt.All.Redundancy), report.Percent(pt.WithoutExtensions.Redundancy),
			report.Percent(pt.All.TiesLow) + " – " + report.Percent(pt.All.TiesHigh),
			report.Percent(pt.All.IntervalLow) + " – " + report.Percent(pt.All.IntervalHigh), behind,
		}
		if d := gocmp.Diff(want, got.Cells); d != "" {
			t.Errorf("%v at %d ms (-want +got):\n%s", c, pt.WindowMS, d)
		}
		if got.Output != report.Duration(pt.WindowMS) {
			t.Errorf("reads at %s, want %s", got.Output, report.Duration(pt.WindowMS))
		}
		if notFigure.MatchString(got.SVG) || strings.Contains(got.SVG, "null") || strings.Contains(got.SVG, "undefined") {
			t.Errorf("%s, %s: not a number in %s", band, scale, got.SVG)
		}
	}
	p.quiet()
}

// decides moves the inputs of the decision and compares every figure with what
// Decide gives for what Traffic says.
func decides(in context.Context, t *testing.T, d *report.Document, html []byte) {
	p := open(in, t, html, how{})
	draw := rand.New(rand.NewPCG(3, 4))
	power := func(from, to float64) float64 { // three digits, as a slider gives
		x := math.Pow(10, from+draw.Float64()*(to-from))
		k := math.Pow(10, 2-math.Floor(math.Log10(x)))
		return math.Round(x*k) / k
	}
	maybe := func(x float64) float64 {
		if draw.IntN(3) == 0 {
			return 0
		}
		return x
	}
	verdicts, refused := map[string]int{}, 0
	for i := range 120 {
		trace := &d.Traces[i%2]
		c := &trace.Findings.Sensitivity.Curves[draw.IntN(len(trace.Findings.Sensitivity.Curves))]
		inputs := decision.Inputs{
			LoadMS: power(0, 5), LoadFactor: maybe(power(-1, 1)), TableUS: maybe(power(-1, 4)), LoadCostMS: maybe(power(-1, 4)),
			LockUS: maybe(power(-1, 2)), SlowOwnerShare: maybe(draw.Float64()), SlowOwnerMS: maybe(power(0, 3)), DeadlineMS: maybe(power(0, 3)),
			Model: []string{"", "Qwen3-8B", "DeepSeek-V3"}[draw.IntN(3)], FailureShare: maybe(0.01), FailureMS: maybe(power(0, 3)),
		}
		if i%10 == 0 { // a window of the curve itself, and beyond its ends
			inputs.LoadMS, inputs.LoadFactor = []float64{100, 10_000, 1e6, 0.2}[i/10%4], 0
		}
		window, err := inputs.EffectiveWindowMS(d.Parameters.BlockTokens)
		if err != nil {
			t.Fatal(err)
		}
		which := []string{"", "chosen"}[draw.IntN(2)]
		traffic, err := decision.TrafficAt(trace.Findings, c, window)
		if err != nil { // beyond the curve: the page says so in the same words
			which = "chosen"
		}
		var want *decision.Decision
		if err == nil && which == "" {
			want, err = decision.Over(trace.Findings, inputs, func(*findings.Curve) bool { return true })
		} else if err == nil {
			want, err = decision.Decide(inputs, traffic)
		}
		problem := ""
		if err != nil {
			problem = strings.ToUpper(err.Error()[:1]) + err.Error()[1:] + "."
			refused++
		}
		fields := map[string]any{"which": which, "lookup": c.Lookup, "routing": c.Routing, "instances": c.Instances, "capacity": c.CapacityBlocks, "model": inputs.Model}
		for k := range decision.Fields {
			if f := &decision.Fields[k]; f.Number != nil && f.Name != "bandwidth_gb_per_s" && f.Name != "fixed_ms" {
				fields[f.Name] = *f.Number(&inputs)
			}
		}
		got := object[struct {
			Traffic                     any
			Problem, Verdict, Window    string
			Elsewhere                   string
			Because, Notes, Crossings   []string
			Readings, Steps, Ownerships map[string][]string
		}](p, fmt.Sprintf(`(() => {
			const article = document.querySelectorAll("article")[%d], form = article.querySelector("form.decide"), section = form.closest("section");
			const fields = %s;
			for (const [name, value] of Object.entries(fields)) form.elements[name].value = value === 0 ? "" : value;
			form.dispatchEvent(new Event("input"));
			const out = (name) => section.querySelector('[data-out="' + name + '"]');
			const items = (name) => [...out(name).children].map((e) => e.textContent);
			const rows = (kind) => Object.fromEntries([...section.querySelectorAll("tr[data-" + kind + "]")].map((r) => [r.dataset[kind], [...r.querySelectorAll("td.n")].map((e) => e.textContent)]));
			const t = DATA.traces[%d], curve = t.curves.find((c) => c.lookup === fields.lookup && c.routing === fields.routing && c.instances === fields.instances && c.capacity === fields.capacity);
			const problem = section.querySelector(".problem");
			if (!problem.hidden) return { Problem: problem.textContent };
			return {
				Traffic: trafficOf(t, curve, fields.load_ms * (fields.load_factor || 1)),
				Elsewhere: out("elsewhere").textContent,
				Verdict: out("verdict").textContent, Window: out("window").textContent,
				Because: items("because"), Notes: items("notes"), Crossings: items("crossings"),
				Readings: rows("reading"), Steps: rows("step"), Ownerships: rows("owner"),
			};
		})()`, i%2, quote(fields), i%2))

		if problem != "" || got.Problem != "" {
			if got.Problem != problem {
				t.Errorf("%+v: says %q, want %q", inputs, got.Problem, problem)
			}
			continue
		}
		verdicts[string(want.Verdict)]++
		if o := want.Elsewhere; o != nil && !strings.Contains(got.Elsewhere, fmt.Sprintf("Of the 59 others %d come out not justified, %d undecided, %d justified.", o.NotJustified, o.Undecided, o.Justified)) {
			t.Errorf("elsewhere: %q, want %+v", got.Elsewhere, o)
		}
		var wantTraffic any
		if err := json.Unmarshal([]byte(quote(traffic)), &wantTraffic); err != nil {
			t.Fatal(err)
		}
		diff := func(what string, want, got any) {
			t.Helper()
			if d := gocmp.Diff(want, got); d != "" {
				t.Errorf("%s: %+v under %v (-want +got):\n%s", what, inputs, traffic.Config, d)
			}
		}
		diff("traffic", wantTraffic, got.Traffic)
		diff("verdict", string(want.Verdict), got.Verdict)
		diff("window", decision.FormatNumber(window)+" ms", got.Window)
		diff("because", want.Because, got.Because)
		if len(want.Notes) > 0 || len(got.Notes) > 0 {
			diff("notes", want.Notes, got.Notes)
		}
		for k, c := range want.Crossings {
			if !strings.Contains(got.Crossings[k], c.Text) || !strings.Contains(got.Crossings[k], c.Command) {
				t.Errorf("crossing %q, want %q and %q", got.Crossings[k], c.Text, c.Command)
			}
		}
		readings := map[string][]string{}
		for k := range want.Readings {
			for _, s := range want.Readings[k].Steps {
				text := decision.FormatNumber(s.Value)
				if s.Name == "redundancy" {
					text = decision.FormatPercent(s.Value)
				}
				if rest, negative := strings.CutPrefix(text, "-"); negative {
					text = "−" + rest
				}
				readings[s.Name] = append(readings[s.Name], text)
			}
			readings["coordination_ms_per_s"] = append(readings["coordination_ms_per_s"], decision.FormatNumber(want.Value("coordination_ms_per_s")))
		}
		diff("readings", readings, got.Readings)
		for _, s := range want.Steps {
			if shown, ok := got.Steps[s.Name]; ok && s.Unit != "B" {
				diff("step "+s.Name, []string{decision.FormatNumber(s.Value)}, shown)
			}
		}
		for k := range want.Ownership {
			o := &want.Ownership[k]
			for name, x := range map[string]float64{"gets_per_s": o.GetsPerS, "wait_ms_per_s": o.WaitMSPerS, "gpu_blocks_per_s": o.GPUBlocksPerS, "lookups_per_s": o.LookupsPerS} {
				diff(name+" of "+o.Design, decision.FormatNumber(x), got.Ownerships[name][k])
			}
			bytes := "-"
			if o.BytesPerS != nil {
				bytes = decision.FormatNumber(*o.BytesPerS)
			}
			diff("bytes of "+o.Design, bytes, got.Ownerships["bytes_per_s"][k])
		}
		if t.Failed() {
			return
		}
	}
	if len(verdicts) < 3 || refused == 0 {
		t.Errorf("the inputs tried give the verdicts %v only, and %d refusals", verdicts, refused)
	}

	// A slider writes into its field, and what cannot be used is said.
	said := eval[[]string](p, `(() => {
		const form = document.querySelector("form.decide"), range = form.querySelector('[data-for="load_ms"]');
		range.value = 250;
		range.dispatchEvent(new Event("input", { bubbles: true }));
		const first = form.elements.load_ms.value;
		form.elements.load_ms.value = "";
		form.dispatchEvent(new Event("input"));
		const section = form.closest("section");
		return [first, section.querySelector(".problem").textContent, String(section.querySelector(".result").hidden)];
	})()`)
	if want := []string{"316", "The load latency is missing: give load_ms, or bandwidth_gb_per_s and one of model, bytes_per_token, bytes_per_block.", "true"}; !slices.Equal(said, want) {
		t.Errorf("a slider and a field left empty give %q, want %q", said, want)
	}
	p.quiet()
}
