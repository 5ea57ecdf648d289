/**
 * The simulated upstream: what Sluice answers with when no upstream is configured, and what it is
 * built and tested against, in process and as `sluice simulate`.
 *
 * @module
 */

export { isSimulated, simulate, SIMULATED_HEADER, simulateHttp } from "./simulator.ts";
