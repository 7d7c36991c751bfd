package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// generate writes the corpus into dir, the same for each run, and returns its
// size in bytes. What is there already is taken as written.
func generate(dir string, files int) (size int64, err error) {
	g := &generator{r: rand.New(rand.NewPCG(20261130, 9))}
	const perFolder = 40
	for i := range files {
		folder := filepath.Join(dir, fmt.Sprintf("part %d", i/perFolder/25), fmt.Sprintf("notes-%d", i/perFolder))
		if i%perFolder == 0 {
			if err := os.MkdirAll(folder, 0o755); err != nil {
				return 0, err
			}
		}
		g.b.Reset()
		g.file(i)
		size += int64(g.b.Len())
		path := filepath.Join(folder, fmt.Sprintf("note %d.md", i))
		if info, err := os.Stat(path); err == nil && info.Size() == int64(g.b.Len()) {
			continue
		}
		if err := write(path, g.b.String()); err != nil {
			return 0, err
		}
	}
	return size, nil
}

func write(path, s string) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
	}()
	w := bufio.NewWriter(f)
	if _, err := w.WriteString(s); err != nil {
		return err
	}
	return w.Flush()
}

// generator makes Markdown from a fixed seed.
type generator struct {
	r *rand.Rand
	b strings.Builder
}

// english is in the order of how often a word comes; the first ones come most.
var english = strings.Fields(`the of and to a in that is was it for on with as he be at by had not are his but from or have an they which one you were all
her she there would their we him been has when who will no more if out so up said what its about than into them can only other time new some could these two
may first then do any like my now over such our man me even most made after also did many off before must well back through years much where your way down
should because long each just those people too mr little state good very make world still own see men work here get both between life being under never day same
another know while last might us great old year come since against go came right used take three house night water boat harbour river bridge walked waited turned
looked called opened answered carried light lamp window letter paper ledger page chapter ferry captain island morning evening winter summer rain wind stone garden
kitchen table bread coffee music memory silence question history science number reason language sentence paragraph editor reader writer market station train ticket`)

var names = strings.Fields(`Anna Berta Clara David Emil Frida Georg Hanna Ivan Jonas Klara Ludwig Maria Nora Oskar Paula Quentin Rosa Simon Tilda Ulla Viktor Wanda`)

// chinese is in the order of how often a word comes.
var chinese = strings.Fields(`的 一 是 不 了 在 人 有 我 他 这 个 们 中 来 上 大 为 和 国 地 到 以 说 时 要 就 出 会 可 也 你 对 生 能 而 子 那 得 于 着 下 自 之 年 过 发 后 作 里
我们 他们 中国 时候 没有 可以 自己 什么 知道 现在 因为 所以 如果 但是 已经 开始 问题 工作 生活 世界 时间 学习 朋友 文章 编辑 读者 作者 历史 语言 句子 段落
河流 桥梁 港口 船长 岛屿 早晨 傍晚 冬天 夏天 雨水 石头 花园 厨房 桌子 面包 咖啡 音乐 记忆 沉默 灯光 窗户 信件 纸张 账本 章节 车站 火车 车票 笔记 会议`)

// pick prefers the front of a list, as words do.
func (g *generator) pick(list []string) string {
	f := g.r.Float64()
	return list[int(f*f*float64(len(list)))]
}

func (g *generator) file(i int) {
	// Most notes are short and some are long: about 10 kB in the middle of them.
	size := 3000 + int(g.r.ExpFloat64()*6500)
	size = min(size, 120_000)
	zh := i%4 == 3
	fmt.Fprintf(&g.b, "---\ntitle: Note %d\ndate: %04d-%02d-%02d\n---\n\n", i, 2000+g.r.IntN(26), 1+g.r.IntN(12), 1+g.r.IntN(28))
	for g.b.Len() < size {
		switch n := g.r.IntN(20); {
		case n < 2:
			g.heading(zh)
		case n < 4:
			g.list(zh)
		case n == 4:
			g.code()
		case zh:
			g.chinese()
		default:
			g.english()
		}
		if g.r.IntN(60) == 0 {
			g.seldom()
		}
		g.b.WriteByte('\n')
	}
	// A few files in a thousand hold what is looked for as rare.
	if i%500 == 7 {
		g.b.WriteString("\nA quixotic lighthouse, a Zweihänder, TODO(galley), see https://example.invalid/rare and 末班渡轮.\n")
	}
}

func (g *generator) heading(zh bool) {
	g.b.WriteString(strings.Repeat("#", 1+g.r.IntN(3)) + " ")
	for range 2 + g.r.IntN(4) {
		if zh {
			g.b.WriteString(g.pick(chinese))
			continue
		}
		w := g.pick(english)
		g.b.WriteString(strings.ToUpper(w[:1]) + w[1:] + " ")
	}
	g.b.WriteByte('\n')
}

func (g *generator) list(zh bool) {
	for range 2 + g.r.IntN(5) {
		g.b.WriteString([]string{"- ", "- [ ] ", "- [x] ", "1. "}[g.r.IntN(4)])
		for range 3 + g.r.IntN(8) {
			if zh {
				g.b.WriteString(g.pick(chinese))
				continue
			}
			g.b.WriteString(g.pick(english) + " ")
		}
		g.b.WriteByte('\n')
	}
}

func (g *generator) code() {
	g.b.WriteString("```go\n")
	for range 1 + g.r.IntN(3) {
		name := g.pick(english)
		fmt.Fprintf(&g.b, "func %s(%s int) error {\n\tif %s > %d {\n\t\treturn fmt.Errorf(\"%s: %%d\", %s)\n\t}\n\treturn nil\n}\n\n",
			name, g.pick(english), name, g.r.IntN(1000), name, g.pick(english))
	}
	g.b.WriteString("```\n")
}

// english writes a paragraph as one line, as editors that wrap do.
func (g *generator) english() {
	for range 2 + g.r.IntN(6) {
		for i := range 5 + g.r.IntN(15) {
			w := g.pick(english)
			switch {
			case i == 0:
				w = strings.ToUpper(w[:1]) + w[1:]
			case g.r.IntN(25) == 0:
				w = names[g.r.IntN(len(names))]
			case g.r.IntN(80) == 0:
				w = "*" + w + "*"
			}
			if i > 0 {
				g.b.WriteByte(' ')
			}
			g.b.WriteString(w)
		}
		g.b.WriteString(". ")
	}
	g.b.WriteByte('\n')
}

func (g *generator) chinese() {
	for range 2 + g.r.IntN(6) {
		for i := range 8 + g.r.IntN(20) {
			g.b.WriteString(g.pick(chinese))
			if i%7 == 6 {
				g.b.WriteString("，")
			}
		}
		g.b.WriteString("。")
	}
	g.b.WriteByte('\n')
}

// seldom writes a line of what is neither rare nor common.
func (g *generator) seldom() {
	g.b.WriteString([]string{
		"The Night Ferry leaves at nine.", "the night ferry is late", "A Lighthouse, two lighthouses.", "Kiosks and kiosks.", "In the café, im CAFÉ.",
		"喝茶去。", "渡轮 Ferry 和 渡轮 ferry", "The river turned and the river waited.",
	}[g.r.IntN(8)] + "\n")
}
