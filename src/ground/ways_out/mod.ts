/**
 * How a connection to an address is made: directly, or through a proxy of the company's. One of the few places that connect (P10).
 *
 * Promise: https goes through a proxy as a tunnel (CONNECT) with TLS from end to end, http in absolute form (RFC 9110, section 9.3.6, and
 * RFC 9112, section 3.2.2). What a proxy fails with is a `ProxyFault`, after which the target has certainly seen nothing. No error names
 * an address or credentials.
 * Leaves to others: which proxy is for which purpose (`settings/config`), and which targets are allowed.
 *
 * @module
 */

export { checkConnection, type Server, serverAt, type ServerOptions } from "./connect.ts";
export { exchange, type ExchangeReply } from "./exchange.ts";
export { exceptingThisMachine, isNear, readExceptions } from "./exceptions.ts";
export { type OutgoingProxy, readProxy } from "./outgoing_proxy.ts";
export { ProxyFault } from "./proxy_fault.ts";
