// Command search measures the search over a workspace beside ripgrep: 20,000
// generated files of Markdown, about 200 MB in English, Chinese and code, with
// the limits off on both sides and the same number of threads. That both find
// the same number of matches is checked first.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"galley/backend/bench"
	"galley/backend/search"
	"galley/backend/workspace"
)

func main() {
	rounds := flag.Int("rounds", 10, "rounds of each figure")
	only := flag.String("only", "", "measure only queries whose name holds this")
	files := flag.Int("files", 20_000, "files to generate")
	keep := flag.String("in", "", "folder to generate into and to keep; a temporary one when empty")
	flag.Parse()
	if err := run(*rounds, *only, *files, *keep); err != nil {
		fmt.Fprintln(os.Stderr, "bench-search:", err)
		os.Exit(1)
	}
}

// question is one of the fixed queries.
type question struct {
	name string
	q    search.Query
	kind string
}

func questions() []question {
	literal := func(kind, name, s string, matchCase bool) question {
		return question{name, search.Query{Text: s, Case: matchCase}, kind}
	}
	regexp := func(kind, name, s string) question {
		return question{name, search.Query{Text: s, Case: true, Regexp: true}, kind}
	}
	return []question{
		literal("rare", "rare words", "quixotic lighthouse", true),
		literal("rare", "rare name", "Zweihänder", true),
		literal("rare", "rare address", "https://example.invalid/rare", true),
		literal("rare", "rare mark", "TODO(galley)", true),
		literal("common", "common word", "river", true),
		literal("common", "common the", "the ", true),
		literal("common", "common code", "return", true),
		literal("common", "common list", "- [ ] ", true),
		literal("ignore case", "ignore case words", "Night Ferry", false),
		literal("ignore case", "ignore case word", "lighthouse", false),
		literal("ignore case", "ignore case k and s", "kiosks", false),
		literal("ignore case", "ignore case accent", "CAFÉ", false),
		literal("chinese", "chinese rare", "末班渡轮", true),
		literal("chinese", "chinese common", "我们", true),
		literal("chinese", "chinese character", "茶", true),
		literal("chinese", "chinese ignore case", "渡轮 ferry", false),
		regexp("regexp with a literal", "regexp words", `[Tt]he river [a-z]+ed`),
		regexp("regexp with a literal", "regexp code", `func [a-z]+\(`),
		regexp("regexp without", "regexp names", `[A-Z][a-z]+ [A-Z][a-z]+`),
		regexp("regexp without", "regexp dates", `[0-9]{4}-[0-9]{2}-[0-9]{2}`),
	}
}

// sides is Galley's engine and the peer over one folder.
type sides struct {
	dir     string
	engine  *search.Engine
	threads int
}

func run(rounds int, only string, files int, keep string) error {
	if _, err := exec.LookPath("rg"); err != nil {
		return errors.New("ripgrep is not installed: build/deps bench")
	}
	dir := keep
	if dir == "" {
		made, err := os.MkdirTemp("", "galley-bench-search-")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(made) }()
		dir = made
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	size, err := generate(dir, files)
	if err != nil {
		return err
	}
	grants := workspace.NewGrants()
	defer grants.Close()
	if _, err := grants.GrantFolder(dir); err != nil {
		return err
	}
	s := &sides{dir: dir, threads: runtime.GOMAXPROCS(0)}
	s.engine = search.New(search.Config{
		Folder: func() (workspace.Folder, error) { return grants.PermitList(dir) },
		Limits: search.Limits{Files: -1, FileBytes: -1, HitsPerFile: -1, Depth: -1, Hits: -1},
		Log:    slog.New(slog.DiscardHandler),
	})
	defer s.engine.Close()
	bench.Figure(os.Stdout, "bm-2", "corpus", fmt.Sprintf("files=%d bytes=%d threads=%d", files, size, s.threads))
	return s.measure(rounds, only)
}

// row is one line of the table.
type row struct {
	question
	hits   int
	result bench.Result
}

func (s *sides) measure(rounds int, only string) error {
	var rows []row
	for i, q := range questions() {
		if !strings.Contains(q.name, only) {
			continue
		}
		hits, err := s.agree(q.q)
		if err != nil {
			return fmt.Errorf("%s: %w", q.name, err)
		}
		pair := s.pair("bm-2", q, rounds, nil)
		r, err := pair.Run()
		if err != nil {
			return err
		}
		if i == 0 {
			first := r
			first.ID, first.Name = "bm-1", "search rare literal warm"
			fmt.Println(first)
		}
		fmt.Println(r)
		rows = append(rows, row{q, hits, r})
	}
	s.table(rows)
	if only != "" {
		return nil
	}
	return s.cold(rounds)
}

func (s *sides) pair(id string, q question, rounds int, before func() error) bench.Pair {
	timed := func(work func(search.Query) error) func() (time.Duration, error) {
		return func() (time.Duration, error) {
			if before != nil {
				if err := before(); err != nil {
					return 0, err
				}
			}
			start := time.Now()
			err := work(q.q)
			return time.Since(start), err
		}
	}
	return bench.Pair{ID: id, Name: q.name, Rounds: rounds, Ours: timed(s.ours), Peer: timed(s.peer)}
}

func (s *sides) ours(q search.Query) error {
	told := 0
	sum, err := s.engine.Run(context.Background(), "bench", q, func(files []search.File) {
		for _, f := range files {
			told += len(f.Hits)
		}
	})
	if err == nil && told != sum.Hits {
		err = fmt.Errorf("%d of %d hits were told", told, sum.Hits)
	}
	return err
}

// peer prints each line with its path and number, as a person would have it;
// nobody reads it, which is the cheapest for it.
func (s *sides) peer(q search.Query) error {
	cmd := s.command(q, "--line-number", "--no-heading")
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 1 {
		return nil // nothing was found
	}
	return err
}

func (s *sides) command(q search.Query, more ...string) *exec.Cmd {
	args := append([]string{"--no-config", "--no-ignore", "--threads", strconv.Itoa(s.threads)}, more...)
	if !q.Regexp {
		args = append(args, "--fixed-strings")
	}
	if !q.Case {
		args = append(args, "--ignore-case")
	}
	return exec.Command("rg", append(args, "--regexp", q.Text, s.dir)...)
}

// agree checks that both sides find the same number of matches.
func (s *sides) agree(q search.Query) (int, error) {
	sum, err := s.engine.Run(context.Background(), "bench", q, nil)
	if err != nil {
		return 0, err
	}
	out, err := s.command(q, "--count-matches", "--no-filename").Output()
	if err != nil && len(out) > 0 {
		return 0, err
	}
	theirs := 0
	for line := range strings.FieldsSeq(string(out)) {
		n, err := strconv.Atoi(line)
		if err != nil {
			return 0, err
		}
		theirs += n
	}
	if theirs != sum.Hits || theirs == 0 {
		return 0, fmt.Errorf("%d hits, ripgrep has %d", sum.Hits, theirs)
	}
	return theirs, nil
}

// table prints the ratios, their geometric mean and the worst.
func (s *sides) table(rows []row) {
	if len(rows) == 0 {
		return
	}
	fmt.Printf("\n%-24s %-24s %9s %9s %9s %7s\n", "query", "kind", "hits", "ours ms", "peer ms", "ratio")
	logs, worst, judged := 0.0, rows[0], 0
	for _, r := range rows {
		ours, peer := r.result.Ours, r.result.Peer
		fmt.Printf("%-24s %-24s %9d %9.1f %9.1f %7.2f\n", r.name, r.kind, r.hits, millis(ours), millis(peer), r.result.Ratio())
		if r.result.Spread() > maxSpread {
			continue
		}
		judged++
		logs += math.Log(r.result.Ratio())
		if r.result.Ratio() > worst.result.Ratio() {
			worst = r
		}
	}
	fmt.Println()
	if judged < len(rows) {
		bench.Figure(os.Stdout, "bm-2", "search", fmt.Sprintf("unjudged: the peer's own times spread by more than 30%% in %d of %d", len(rows)-judged, len(rows)))
	}
	if judged > 0 {
		bench.Figure(os.Stdout, "bm-2", "search geometric mean", fmt.Sprintf("ratio=%.2f worst=%.2f (%s) n=%d", math.Exp(logs/float64(judged)), worst.result.Ratio(), worst.name, judged))
	}
}

// maxSpread is that of package bench.
const maxSpread = 0.3

func millis(sorted []time.Duration) float64 {
	return float64(sorted[len(sorted)/2]) / float64(time.Millisecond)
}

// cold measures with the system's caches dropped before each search.
func (s *sides) cold(rounds int) error {
	drop := func() error { return os.WriteFile("/proc/sys/vm/drop_caches", []byte("3"), 0o200) }
	if err := drop(); err != nil {
		bench.Figure(os.Stdout, "bm-3", "search rare literal cold", "unjudged: the system's caches cannot be dropped here, which takes root")
		return nil
	}
	q := questions()[0]
	q.name = "search rare literal cold"
	r, err := s.pair("bm-3", q, rounds, drop).Run()
	if err != nil {
		return err
	}
	fmt.Println(r)
	return nil
}
