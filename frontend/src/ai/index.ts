export { type Agent, createAgent } from "./agent";
export { RewriteBox } from "./box";
export { reviewLabels } from "./labels";
export { ReviewPanel } from "./review-panel";
export { createProposals, type OpenProposal, type Proposals, type Standing } from "./review-proposals";
export { createRewrites, isUnderWay, type Rewrite, type Rewrites } from "./rewrites";
