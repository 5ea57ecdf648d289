/**
 * Pictures from strangers: fetched, checked and put into the request as data.
 *
 * Promise: the address that was judged is the address connected to, at every hop; nothing but public
 * unicast addresses and hosts that the operator trusts; nothing but a whole PNG, JPEG, WEBP or GIF
 * goes on; the transfer stops at the limit; a caller learns nothing of the network from an error.
 * Leaves to others: which route takes pictures (`catalog/`), who may ask (`admission/`).
 *
 * @module
 */

export { isPublicAddress } from "./address.ts";
export { ImageFault, type ImageFaultKind } from "./fault.ts";
export { type Checked, checkImage } from "./check_image.ts";
export { ImageFetcher, type ImageFetcherOptions } from "./fetcher.ts";
export { type ImageLimits, Images } from "./images.ts";
export { type Resolve, systemResolve } from "./resolve.ts";
export { checkAddress, type TargetRules } from "./target.ts";
