export { digestOf } from "./digest";
export { createDocuments, type Documents, type DocumentsConfig, type Tab } from "./documents";
