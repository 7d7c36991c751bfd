export { createAgent } from "./agent";
export { RewriteBox } from "./box";
export { reviewLabels } from "./labels";
export { ReviewPanel } from "./review-panel";
export { createRewrites, isUnderWay, type Rewrite, type Rewrites } from "./rewrites";
