/** What the fake backend holds when the page runs without the program. */

import type { Recent } from "../backend";
import { noParameters } from "../backend/blank";
import type { FakeBackend } from "../backend/fake";
import { createFakeBackend } from "../backend/fake";

const ferry = `---
title: The Night Ferry
lang: en
tags: [essay]
date: 2026-11-12
---

# The Night Ferry

The last boat leaves the north quay at 22:40, whatever the weather. In winter it carries about 1,240 passengers a week, most of them nurses, cooks and students going home. It is the **only hour of the day** when the harbour is quiet enough to hear the ropes, and I came for [the sound](sound.md) before I came for the story.

## What the timetable leaves out

For a month I kept a notebook on the lower deck. Three things kept coming back:

- [x] The purser counts the passengers twice
- [x] Nobody sits by the north window
- [ ] Ask Lin why the second bell is early

> “The water knows every boat,” the purser said, “but only the late one by name.”

## Notes for the printer

Set the crossing times in lining figures and keep the bell marks in the margin.
`;

const night = `# 夜航船

末班船每晚 22:40 离开北码头，风雨无阻。入冬以后，它每周大约载 1,240 人，多是下夜班的护士、厨师和回家的学生。一天之中**只有这一个钟头**，港口静得听得见缆绳的声音；我先是为了[这声音](sound.md)而来，后来才动了写它的念头。

## 时刻表没有写的

我在下层甲板记了一个月的笔记。有三件事，每晚都会重演：

- [x] 事务长把乘客数两遍
- [ ] 问林师傅，第二遍铃为什么总是早响
`;

const files: Readonly<Record<string, string>> = {
  "/essays/Drafts/The Night Ferry.md": ferry,
  "/essays/Drafts/Salt and Paper.md": "# Salt and Paper\n\nA crate of paper came off the boat.\n",
  "/essays/Drafts/The Second Bell.md": "# The Second Bell\n",
  "/essays/Interviews/Lin, purser.md": "# Lin, purser\n",
  "/essays/Interviews/Mei, galley cook.md": "# Mei, galley cook\n",
  "/essays/Research/ledger.md": "# Ledger\n",
  "/essays/Style sheet.md": "# Style sheet\n",
  "/essays/Timetable 2026.md": "# Timetable 2026\r\n",
  "/essays/README.md": "# Harbour essays\n",
  "/essays/夜航船.md": night,
  "/sample/Welcome.md": "# Welcome\n",
};

const recent: Recent = {
  workspaces: [
    { path: "/essays", name: "essays" },
    { path: "/home/lin/Letters", name: "Letters" },
  ],
  files: [
    { path: "/essays/Drafts/The Night Ferry.md", name: "The Night Ferry.md", atMs: 2 },
    { path: "/essays/夜航船.md", name: "夜航船.md", atMs: 1 },
  ],
};

/**
 * Makes it. The page's address chooses: `?first` for a first run, `?recent` with
 * a past, `?zh` for a Chinese document, `?keyring=missing`, `?os=darwin`, `?theme=dark`, `?lang=zh`.
 */
export function createDemo(search: URLSearchParams): FakeBackend {
  const first = search.has("first");
  const keyring = search.get("keyring");
  return createFakeBackend({
    files,
    workspace: first ? "" : "/essays",
    sample: "/sample",
    recent: search.has("recent") ? recent : {},
    open: first
      ? []
      : search.has("zh")
        ? ["/essays/夜航船.md"]
        : [
            "/essays/Drafts/The Night Ferry.md",
            "/essays/Drafts/Salt and Paper.md",
            "/essays/Timetable 2026.md",
          ],
    dialogs: { folder: "/essays", files: ["/essays/README.md"], saveAs: "/essays/Untitled.md" },
    keyring: keyring === "missing" || keyring === "locked" || keyring === "silent" ? keyring : "present",
    os: search.get("os") ?? "linux",
    settings: {
      theme: search.get("theme") ?? "system",
      language: search.get("lang") ?? "system",
      provider: first ? "" : "mock",
    },
    providers: first
      ? []
      : [
          {
            id: "ollama",
            name: "Ollama",
            kind: "openai_chat",
            profile: "ollama",
            baseUrl: "http://localhost:11434/v1",
            model: "",
            contextTokens: 0,
            ...noParameters,
          },
          {
            id: "deepseek",
            name: "DeepSeek",
            kind: "openai_chat",
            profile: "deepseek",
            baseUrl: "https://api.deepseek.com",
            model: "deepseek-chat",
            contextTokens: 64_000,
            ...noParameters,
          },
          {
            id: "mock",
            name: "Mock",
            kind: "mock",
            profile: "",
            baseUrl: "",
            model: "mock-1",
            contextTokens: 32_768,
            ...noParameters,
          },
        ],
    problems: search.has("problems") ? ["text.size"] : [],
    pieceMs: Number(search.get("piece") ?? 30),
  });
}
