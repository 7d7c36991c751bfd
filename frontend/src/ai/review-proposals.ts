import { batch, computed, effect, type ReadonlySignal, signal, untracked } from "@preact/signals";
import { type Backend, BackendError, type Hunk, type Proposal, type Run } from "../backend";
import { type Documents, digestOf, type Tab } from "../document";
import {
  type Base,
  baseAt,
  baseOf,
  closeReview,
  closingReview,
  forgetBase,
  goToHunk,
  type HunkView,
  isOpen,
  keepBase,
  keepVersions,
  oldestBase,
  openingReview,
  openReview,
  proposalsOf,
  type ReviewEvent,
  type ReviewLabels,
  type ReviewView,
  releaseVersions,
  versionOf,
} from "../editor";
import type { Agent } from "./agent";
import { createDecisions } from "./decisions";
import type { Wish } from "./wish";

/** A proposal under review in an open document. */
export interface OpenProposal {
  readonly tab: Tab;
  readonly proposal: Proposal;
  /** What was asked for; null when it was not a rewrite of this page. */
  readonly wish: Wish | null;
  /** False when it was made for a text that is not known any more. */
  readonly placed: boolean;
  /** It cannot be placed, and just what it would put in stands where it would be. */
  readonly inText: boolean;
}

/** An open proposal for a document that is not in front. */
export interface OtherProposal {
  readonly proposal: Proposal;
  /** Null when its document is not open. */
  readonly tab: Tab | null;
  /** The document's absolute path; "" for one that was never saved. */
  readonly path: string;
}

/** How a proposal stands, in numbers of hunks. Those of a document that is not open count as clean. */
export interface Standing {
  /** Whether its document is open, and whether it has a place in the text there. */
  readonly place: "text" | "unplaced" | "closed";
  readonly total: number;
  readonly clean: number;
  readonly moved: number;
  readonly stale: number;
  readonly accepted: number;
  readonly rejected: number;
}

/** The proposals of the open documents. */
export interface Proposals {
  /** Those under review in the document in front: the placed ones as they were opened, then the others. */
  readonly front: ReadonlySignal<readonly OpenProposal[]>;
  /** How the hunks of the placed ones stand, as one review; null for none. */
  readonly review: ReadonlySignal<ReviewView | null>;
  /** How many hunks of the document in front wait for a decision. */
  readonly count: ReadonlySignal<number>;
  /** Open ones of other documents, the newest first. */
  readonly others: ReadonlySignal<readonly OtherProposal[]>;
  /** How a proposal stands; null when nothing is known of it. Reads signals. */
  readonly standing: (id: string) => Standing | null;
  /**
   * Keeps every version of the document in front, or of another, from now on
   * for the run that this command starts. Released by itself when the run is
   * over and its proposals have their places.
   */
  readonly track: (commandId: string, documentId?: string) => void;
  /** To be called when a run that was tracked could not be started. */
  readonly release: (commandId: string) => void;
  /** Brings a proposal's document to the front, opening it where needed, and goes to its first open hunk. */
  readonly show: (id: string) => Promise<void>;
  /** Puts a proposal away: what of it is open counts as rejected. */
  readonly dismiss: (id: string) => Promise<void>;
  /** The proposal of this command's run is placed by whoever asked for it. */
  readonly claim: (commandId: string) => void;
  /** Shows a proposal on the base that is tracked under an id, and stops tracking that. */
  readonly place: (tab: Tab, proposal: Proposal, baseId: string, wish: Wish) => void;
  /** Takes a proposal off the text without deciding it. */
  readonly withdraw: (id: string) => void;
  /** Resolves when the open proposals that are known now have been looked at. */
  readonly settle: () => Promise<void>;
  /** Tells again what could not be told. */
  readonly retry: () => void;
  /** To be called for each event of a review that is not a request. */
  readonly handleReview: (event: ReviewEvent) => void;
}

/** What they need. */
export interface ProposalsConfig {
  readonly backend: Backend;
  readonly documents: Documents;
  readonly agent: Agent;
  readonly labels: () => ReviewLabels;
  /** Told what to say when hunks were accepted. */
  readonly onReceipt: (accepted: number, identicalBytes: number) => void;
  /** Told that an accept was refused. */
  readonly onRefused: (reason: "stale" | "fidelity" | "cut_off") => void;
  /** Told when a proposal was brought to the front. */
  readonly onShown?: () => void;
  readonly newId?: () => string;
}

/** How long versions are kept for a command of which nothing is heard, in ms. */
const longestUnheardMs = 120_000;

/** Makes the proposals of this page. */
export function createProposals(config: ProposalsConfig): Proposals {
  const { backend, documents, agent } = config;
  const decisions = createDecisions(backend, config.newId);
  const entries = signal<readonly OpenProposal[]>([]);
  const review = signal<ReviewView | null>(null);
  const claimed = new Set<string>();
  /** Those that were put away here; the host may not have it yet. */
  const away = signal<ReadonlySet<string>>(new Set());
  /** The ids of proposals that are on their way into the text. */
  const coming = new Set<string>();
  /** Proposals find their places one after the other, so that they are shown in the order they came. */
  let queue: Promise<void> = Promise.resolve();
  /** What is tracked: the document by the command, and what ends it when nothing is heard. */
  const tracked = new Map<
    string,
    { readonly tabs: Set<string>; timer: ReturnType<typeof setTimeout> | undefined }
  >();

  /** The session of each run, also of runs that the state leaves out later. */
  const sessions = new Map<string, string>();

  const stateOf = computed(() => agent.view.value.proposals);

  effect(() => {
    const tab = documents.current.value;
    review.value = tab === null ? null : proposalsOf(tab.state());
  });

  // What the host knows of is shown where its document is open.
  effect(() => {
    const known = stateOf.value;
    const { runs } = agent.view.value;
    const tabs = documents.tabs.value;
    const uris = new Map(tabs.map((tab) => [tab.info.value.uri, tab]));
    untracked(() => {
      forgetClosed(tabs);
      // A state that is fetched anew has the newest first.
      for (const made of [...known.values()].sort((a, b) => a.createdAtMs - b.createdAtMs)) {
        const commandId = runs.get(made.runId)?.commandId ?? "";
        const isOurs = claimed.has(commandId) || away.peek().has(made.id);
        if (isOpenState(made) && uris.has(made.docUri) && !isOurs) {
          bind(made);
        }
      }
      for (const { proposal } of entries.peek()) {
        // One that is decided may be missing from a state that is fetched anew, and undo can still open it.
        const now = known.get(proposal.id);
        if (now !== undefined && !isOpenState(now) && now.state !== "applied" && now.state !== "rejected") {
          withdraw(proposal.id);
        }
      }
    });
  });

  // Runs that somebody else started, or that were under way when the page was loaded.
  effect(() => {
    const { runs } = agent.view.value;
    const tabs = documents.tabs.value;
    const uris = tabs.map((tab) => ({ id: tab.id, uri: tab.info.value.uri }));
    untracked(() => {
      for (const run of runs.values()) {
        sessions.set(run.id, run.sessionId);
        if (run.endedAtMs > 0) {
          if (tracked.has(run.commandId)) {
            void queue.then(() => release(run.commandId));
          }
          continue;
        }
        heard(run);
        for (const { id, uri } of uris) {
          if (uri === run.docUri && !claimed.has(run.commandId)) {
            track(run.commandId, id);
          }
        }
      }
    });
  });

  agent.onMessage((message) => {
    if (message.type !== "session.deleted") {
      return;
    }
    for (const { proposal } of entries.peek()) {
      if (sessions.get(proposal.runId) === message.payload.sessionId) {
        withdraw(proposal.id);
      }
    }
  });

  function forgetClosed(tabs: readonly Tab[]): void {
    if (entries.peek().some(({ tab }) => !tabs.includes(tab))) {
      entries.value = entries.peek().filter(({ tab }) => tabs.includes(tab));
    }
    for (const { tabs: kept } of tracked.values()) {
      for (const id of [...kept].filter((one) => !tabs.some((tab) => tab.id === one))) {
        kept.delete(id);
      }
    }
  }

  function bind(made: Proposal): void {
    if (coming.has(made.id) || entries.peek().some(({ proposal }) => proposal.id === made.id)) {
      return;
    }
    coming.add(made.id);
    queue = queue
      .then(() => bindNow(made))
      // Nothing is known of it then; it is tried again when the host tells anything new.
      .catch((error: unknown) => console.error(error))
      .finally(() => coming.delete(made.id));
  }

  async function bindNow(made: Proposal): Promise<void> {
    const whole = made.hunks.length > 0 ? made : await backend.agent.Proposal(made.id);
    const tab = documents.tabs.peek().find((one) => one.info.peek().uri === whole.docUri);
    if (tab === undefined || !isOpenState(whole)) {
      return;
    }
    const base = await baseFor(tab, whole);
    // It may have been put away, or its document closed, while its base was looked for.
    const now = stateOf.peek().get(made.id);
    if (now !== undefined && isOpenState(now) && documents.tabs.peek().includes(tab)) {
      put(tab, whole, base, null);
    }
  }

  /** The text that a proposal was made for, with what changed since; null when it is not known. */
  async function baseFor(tab: Tab, made: Proposal): Promise<Base | null> {
    const { baseVersion } = made.patch;
    // By its version where that is kept: a digest alone cannot tell one text from itself, come back.
    for (const find of [() => baseAt(tab.state(), baseVersion), () => oldestBase(tab.state())]) {
      const kept = find();
      if (kept !== null && (await digestOfText(kept)) === made.baseDigest) {
        return find();
      }
    }
    const id = `binding ${made.id}`;
    documents.change(tab.id, { effects: keepBase.of(id) });
    const now = baseOf(tab.state(), id);
    const same = now !== null && (await digestOfText(now)) === made.baseDigest;
    if (!documents.tabs.peek().includes(tab)) {
      return null;
    }
    const base = baseOf(tab.state(), id);
    documents.change(tab.id, { effects: forgetBase.of(id) });
    return same ? base : null;
  }

  /** The digests of texts by the texts: several proposals are made for one. */
  const digests = new WeakMap<Base["text"], Promise<string>>();
  function digestOfText({ text }: Base): Promise<string> {
    const known = digests.get(text) ?? digestOf(text.toString());
    digests.set(text, known);
    return known;
  }

  /** Shows a proposal on its base; without one it is only listed. */
  function put(tab: Tab, proposal: Proposal, base: Base | null, wish: Wish | null): void {
    const shown = base !== null && open(tab, proposal, base, wish);
    const inText = !shown && isInText(tab, proposal);
    batch(() => {
      const rest = entries.peek().filter((entry) => entry.proposal.id !== proposal.id);
      entries.value = [...rest, { tab, proposal, wish, placed: shown, inText }];
      refresh();
    });
  }

  function open(tab: Tab, made: Proposal, base: Base, wish: Wish | null): boolean {
    const input = {
      id: made.id,
      base: base.text,
      changes: base.changes,
      hunks: made.hunks.map((hunk) => ({
        id: keyOf(made.id, hunk.id),
        edits: made.patch.edits.slice(hunk.first, hunk.first + hunk.count),
        warnings: hunk.warnings,
        // What was accepted is not in a text that is still the base.
        outcome: hunk.outcome === "rejected" ? ("rejected" as const) : ("open" as const),
      })),
      cutOff: made.cutOff,
      labels: config.labels(),
      requests: wish === null ? (["reject_all"] as const) : (["regenerate", "reject_all"] as const),
    };
    try {
      if (documents.current.peek() === tab) {
        openReview(documents.view, input);
      } else {
        documents.change(tab.id, openingReview(tab.state(), input));
      }
      return true;
    } catch (error) {
      // Edits that do not fit the text they say they are for have no place.
      console.error(error);
      return false;
    }
  }

  function refresh(): void {
    const tab = documents.current.peek();
    review.value = tab === null ? null : proposalsOf(tab.state());
  }

  function withdraw(id: string): void {
    away.value = new Set(away.peek()).add(id);
    const entry = entries.peek().find(({ proposal }) => proposal.id === id);
    if (entry === undefined) {
      return;
    }
    entries.value = entries.peek().filter((other) => other !== entry);
    const spec = closingReview(entry.tab.state(), id);
    if (spec !== null && documents.tabs.peek().includes(entry.tab)) {
      documents.change(entry.tab.id, spec);
    }
    refresh();
  }

  function track(commandId: string, documentId?: string): void {
    const id = documentId ?? documents.current.peek()?.id;
    const known = tracked.get(commandId) ?? { tabs: new Set<string>(), timer: undefined };
    if (id === undefined || known.tabs.has(id)) {
      return;
    }
    known.tabs.add(id);
    if (!tracked.has(commandId)) {
      known.timer = setTimeout(() => release(commandId), longestUnheardMs);
      tracked.set(commandId, known);
    }
    documents.change(id, { effects: keepVersions.of(commandId) });
  }

  /** The run of a command has begun; its end releases what is kept for it. */
  function heard(run: Run): void {
    const known = tracked.get(run.commandId);
    clearTimeout(known?.timer);
  }

  function release(commandId: string): void {
    const known = tracked.get(commandId);
    if (known === undefined) {
      return;
    }
    tracked.delete(commandId);
    clearTimeout(known.timer);
    for (const id of known.tabs) {
      if (documents.tabs.peek().some((tab) => tab.id === id)) {
        documents.change(id, { effects: releaseVersions.of(commandId) });
      }
    }
  }

  async function wholeOf(id: string): Promise<Proposal> {
    const known = entries.peek().find(({ proposal }) => proposal.id === id)?.proposal;
    const made = known ?? stateOf.peek().get(id);
    return made !== undefined && made.hunks.length > 0 ? made : backend.agent.Proposal(id);
  }

  async function show(id: string): Promise<void> {
    const entry = entries.peek().find(({ proposal }) => proposal.id === id);
    const made = entry?.proposal ?? (await wholeOf(id));
    const tab = entry?.tab ?? (await openDocument(made.docUri));
    const before = documents.current.peek();
    documents.select(tab.id);
    config.onShown?.();
    await settle();
    const { view } = documents;
    const go = (): void => {
      const first = proposalsOf(view.state)?.hunks.find((hunk) => hunk.review === id && isOpen(hunk));
      if (documents.current.peek() === tab && first !== undefined) {
        goToHunk(view, first.id);
      }
    };
    go();
    if (tab !== before) {
      // A tab that comes to the front scrolls to where it was; this comes after.
      view.requestMeasure({ read: () => {}, write: () => queueMicrotask(go) });
    }
  }

  async function openDocument(uri: string): Promise<Tab> {
    const tab = documents.tabs.peek().find((one) => one.info.peek().uri === uri);
    if (tab !== undefined) {
      return tab;
    }
    const path = pathOfUri(uri);
    if (path === "") {
      throw new BackendError("not_found");
    }
    try {
      return await documents.open(path);
    } catch (error) {
      // One outside the folder is let in by the list of what was opened.
      if (error instanceof BackendError && error.code === "not_granted") {
        return documents.show(await backend.documents.OpenRecent(path));
      }
      throw error;
    }
  }

  async function dismiss(id: string): Promise<void> {
    const made = await wholeOf(id);
    const entry = entries.peek().find(({ proposal }) => proposal.id === id);
    const standing = entry === undefined ? null : hunksOf(entry);
    const hunks = made.hunks
      .filter((hunk) =>
        isUndecided(
          hunk,
          standing?.find((view) => view.id === keyOf(id, hunk.id)),
        ),
      )
      .map((hunk) => ({ id: hunk.id, outcome: "rejected" as const }));
    if (hunks.length > 0) {
      decisions.add(id, hunks, entry === undefined ? 0 : versionOf(entry.tab.state()));
    }
    withdraw(id);
  }

  function hunksOf({ tab, proposal }: OpenProposal): readonly HunkView[] {
    // The front document's are followed as signals.
    const view = tab === documents.current.value ? review.value : proposalsOf(tab.state());
    return view?.hunks.filter((hunk) => hunk.review === proposal.id) ?? [];
  }

  function standing(id: string): Standing | null {
    const entry = entries.value.find(({ proposal }) => proposal.id === id);
    const made = stateOf.value.get(id) ?? entry?.proposal;
    if (made === undefined) {
      return null;
    }
    const views = entry?.placed === true ? hunksOf(entry) : [];
    const place = entry === undefined ? "closed" : entry.placed ? "text" : "unplaced";
    const statuses = views.length > 0 ? views.map(({ status }) => status) : statusesOf(made, entry);
    const count = (status: HunkView["status"]): number => statuses.filter((one) => one === status).length;
    return {
      place,
      total: statuses.length,
      clean: count("clean"),
      moved: count("moved"),
      stale: count("stale"),
      accepted: count("accepted"),
      rejected: count("rejected"),
    };
  }

  const front = computed(() => {
    const tab = documents.current.value;
    const own = entries.value.filter((entry) => entry.tab === tab);
    const ids = review.value?.ids ?? [];
    const placed = ids.flatMap((id) => own.find((entry) => entry.placed && entry.proposal.id === id) ?? []);
    return [...placed, ...own.filter((entry) => !entry.placed)];
  });

  function settle(): Promise<void> {
    return queue;
  }

  return {
    front,
    review,
    count: computed(() => {
      const placed = review.value?.hunks.filter(isOpen).length ?? 0;
      const rest = front.value.filter((entry) => !entry.placed);
      return (
        placed + rest.flatMap(({ proposal }) => proposal.hunks.filter((hunk) => isUndecided(hunk))).length
      );
    }),
    others: computed(() => {
      const tabs = documents.tabs.value;
      const { value: tab } = documents.current;
      const here = entries.value.filter((entry) => entry.tab === tab).map(({ proposal }) => proposal.id);
      return [...stateOf.value.values()]
        .filter((made) => isOpenState(made) && !here.includes(made.id) && !away.value.has(made.id))
        .filter((made) => made.docUri !== tab?.info.value.uri)
        .sort((a, b) => b.createdAtMs - a.createdAtMs)
        .map((proposal) => {
          const own = tabs.find((one) => one.info.value.uri === proposal.docUri) ?? null;
          return { proposal, tab: own, path: own?.info.value.path ?? pathOfUri(proposal.docUri) };
        });
    }),
    standing,
    track,
    release,
    show,
    dismiss,
    claim: (commandId) => {
      claimed.add(commandId);
    },
    place: (tab, made, baseId, wish) => {
      put(tab, made, baseOf(tab.state(), baseId), wish);
      documents.change(tab.id, { effects: forgetBase.of(baseId) });
    },
    withdraw,
    settle,
    retry: decisions.retry,
    handleReview: (event) => {
      switch (event.type) {
        case "changed":
          refresh();
          return;
        case "decided":
        case "reopened":
          decisions.add(
            event.id,
            event.decisions.map(({ id, outcome }) => ({ id: id.slice(event.id.length + 1), outcome })),
            event.version,
          );
          return;
        case "receipt":
          config.onReceipt(event.accepted, event.identicalBytes);
          return;
        case "refused":
          config.onRefused(event.reason);
          return;
        case "finished":
          closeReview(documents.view);
          return;
        case "requested":
          return;
      }
    },
  };
}

/** The id of a hunk among those of all proposals. */
function keyOf(proposalId: string, hunkId: string): string {
  return `${proposalId}/${hunkId}`;
}

/** Whether a proposal waits for a person. */
function isOpenState({ state }: Proposal): boolean {
  return state === "proposed" || state === "partly_applied";
}

/** Whether a hunk waits for a decision, as the text shows it where it does, else as it was recorded. */
function isUndecided({ outcome }: Hunk, view?: HunkView): boolean {
  return view === undefined ? outcome !== "accepted" && outcome !== "rejected" : isOpen(view);
}

/** How the hunks of a proposal stand that has no place in a text. */
function statusesOf(made: Proposal, entry: OpenProposal | undefined): readonly HunkView["status"][] {
  const hunks = made.hunks.length > 0 ? made.hunks : (entry?.proposal.hunks ?? []);
  const all = made.state === "applied" ? "accepted" : made.state === "rejected" ? "rejected" : null;
  return hunks.map(
    ({ outcome }) => all ?? (outcome === "accepted" || outcome === "rejected" ? outcome : "clean"),
  );
}

/** Whether the words a proposal puts in stand in the text where they would if it had been accepted whole. */
function isInText(tab: Tab, { patch }: Proposal): boolean {
  const { doc } = tab.state();
  let shift = 0;
  for (const { from, to, insert } of patch.edits) {
    const at = from + shift;
    if (doc.sliceString(at, at + insert.length) !== insert) {
      return false;
    }
    shift += insert.length - (to - from);
  }
  // A deletion leaves nothing to be seen.
  return patch.edits.some(({ insert }) => insert.trim() !== "");
}

/** The path of a file URI as the host writes it; "" for any other URI. */
export function pathOfUri(uri: string): string {
  if (!uri.startsWith("file:///")) {
    return "";
  }
  try {
    const path = decodeURIComponent(uri.slice("file://".length));
    // On Windows the drive comes behind the first slash.
    return /^\/[A-Za-z]:\//.test(path) ? path.slice(1).replaceAll("/", "\\") : path;
  } catch {
    return "";
  }
}
