export { type Backend, connectBackend, hasHost } from "./client";
export { createEvents, type Events, type EventsConfig, type Handlers, type Message } from "./events";
export { BackendError, decodeError, isFaultCode } from "./fault";
export type * from "./gen";
export { faultCodes } from "./gen";
export type { TextUpdate, VersionedText } from "./text";
