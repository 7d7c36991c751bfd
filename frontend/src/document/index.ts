export { digestOf } from "./digest";
export { createDocuments, type Documents, type DocumentsConfig, type Tab } from "./documents";
export { createSync, type Sync, type SyncConfig, type Whole } from "./sync";
