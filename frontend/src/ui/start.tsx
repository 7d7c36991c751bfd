import { type MessageKey, t } from "../i18n";
import type { CommandBoard } from "./board";
import { type CommandId, commands } from "./commands";
import { type FinderSource, RecentList } from "./finder";
import { Icon, type IconName } from "./icon";
import { keyLabel } from "./keys";
import { rich } from "./rich";

const ways: readonly { readonly id: CommandId; readonly label: MessageKey; readonly icon: IconName }[] = [
  { id: "file.openFolder", label: "start.openFolder", icon: "folder-open" },
  { id: "file.new", label: "start.newDocument", icon: "file-plus" },
  { id: "file.open", label: "start.openFile", icon: "file-text" },
];

/** Props of FirstRun. */
export interface FirstRunProps {
  readonly board: CommandBoard;
  readonly recent: FinderSource;
  /** No provider is set up yet: AI is off, and how to turn it on is said. */
  readonly aiOff: boolean;
  readonly onSample: () => void;
  readonly onAddProvider: () => void;
}

/** The window while no folder and no document is open. */
export function FirstRun({ board, recent, aiOff, onSample, onAddProvider }: FirstRunProps) {
  const link = (run: () => void) => (words: string) => (
    <button type="button" class="linked" onClick={run}>
      {words}
    </button>
  );
  return (
    <div class="first">
      <div>
        <h1>{t("window.name")}</h1>
        <p class="lede">{t("start.lede")}</p>
        <ul>
          {ways.map(({ id, label, icon }) => {
            const command = commands.find((row) => row.id === id);
            return (
              <li key={id}>
                <button type="button" onClick={() => board.run(id)}>
                  <Icon name={icon} />
                  <span class="grow">{t(label)}</span>
                  <span class="key">{command && keyLabel(command, board.platform.value)}</span>
                </button>
              </li>
            );
          })}
        </ul>
        <RecentList source={recent} />
        <div class="small">
          <p>{t("start.reads")}</p>
          {aiOff && <p>{rich(t("start.aiOff"), { a: link(onAddProvider) })}</p>}
          <p>{rich(t("start.sample"), { a: link(onSample) })}</p>
        </div>
      </div>
    </div>
  );
}

/** The editor's place while a folder is open and no document is. */
export function NothingOpen({ board }: { readonly board: CommandBoard }) {
  return (
    <div class="nothing">
      <div class="empty">
        <h1>{t("start.nothingOpen.title")}</h1>
        <span>{t("start.nothingOpen.text")}</span>
        <button type="button" class="btn" onClick={() => board.run("file.new")}>
          {t("start.newDocument")}
        </button>
      </div>
    </div>
  );
}

/** A page that cannot be used, and why: another one attached, or the interface broke. */
export function Plate({
  title,
  text,
  action,
}: {
  readonly title: string;
  readonly text: string;
  readonly action?: { readonly label: string; readonly run: () => void };
}) {
  return (
    <main class="plate">
      <div role="alert">
        <h1>{title}</h1>
        <p>{text}</p>
        {action && (
          <button type="button" class="btn" onClick={action.run}>
            {action.label}
          </button>
        )}
      </div>
    </main>
  );
}
