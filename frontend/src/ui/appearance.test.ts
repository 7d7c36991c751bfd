import { describe, expect, it } from "vitest";
import { pickTheme } from "./appearance";

// covers: E6 (the system's wishes)
describe("pickTheme", () => {
  const system = { dark: false, contrast: false, languages: [] };
  it("takes what the system asks for, contrast first, unless one is chosen", () => {
    expect(pickTheme("system", system)).toBe("light");
    expect(pickTheme("system", { ...system, dark: true })).toBe("dark");
    expect(pickTheme("system", { ...system, dark: true, contrast: true })).toBe("contrast");
    expect(pickTheme("sepia", { ...system, dark: true, contrast: true })).toBe("sepia");
    expect(pickTheme("nonsense", system)).toBe("light");
  });
});
