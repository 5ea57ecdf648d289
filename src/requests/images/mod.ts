/**
 * Fetches and checks the images of requests, and puts them into the request as data.
 *
 * Promise: at every hop, the connection goes to the address that was checked; only public unicast addresses and hosts
 * that the operator trusts are contacted; only complete PNG, JPEG, WEBP and GIF files are accepted; a transfer stops at
 * the size limit; errors reveal nothing about the network to the caller.
 * Leaves to others: which routes accept images (`catalog/`), which requests may run (`admission/`).
 *
 * @module
 */

export { isPublicAddress } from "./address.ts";
export { ImageFault } from "./fault.ts";
export { type Checked, checkImage } from "./check_image.ts";
export { ImageFetcher, type ImageFetcherOptions } from "./fetcher.ts";
export { Images } from "./images.ts";
export { type Resolve, systemResolve } from "./resolve.ts";
export { wayTo } from "./way_to.ts";
