import { t } from "../i18n";

/** A value of a setting and its label. */
export interface Choice {
  readonly id: string;
  readonly label: string;
}

const languages = ["system", "en", "zh"] as const;
const themes = ["system", "light", "dark", "sepia", "contrast"] as const;
const faces = ["sans", "serif", "mono"] as const;

/** The languages there are, and the system's. */
export function languageChoices(): readonly Choice[] {
  return languages.map((id) => ({ id, label: t(`choice.language.${id}`) }));
}

/** The themes there are, and the system's. */
export function themeChoices(): readonly Choice[] {
  return themes.map((id) => ({ id, label: t(`choice.theme.${id}`) }));
}

/** The text faces there are. */
export function faceChoices(): readonly Choice[] {
  return faces.map((id) => ({ id, label: t(`choice.face.${id}`) }));
}
