/**
 * Set-up of every test: effects run in a microtask. Preact's own timer for them
 * can outlive a test's page, and then finds no window.
 */
import { options } from "preact";

options.requestAnimationFrame = (flush) => queueMicrotask(() => flush());
