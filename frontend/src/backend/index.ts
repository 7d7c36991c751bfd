export { defaultSettings, noParameters } from "./blank";
export { type Backend, connectBackend, hasHost } from "./client";
export { createEvents, decodeMessage, type Events, type Handlers, type Message } from "./events";
export { BackendError, decodeError, isFaultCode } from "./fault";
export type * from "./gen";
export { faultCodes } from "./gen";
