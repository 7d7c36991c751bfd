export { digestOf } from "./digest";
export { createDocuments, type Documents, type Tab } from "./documents";
