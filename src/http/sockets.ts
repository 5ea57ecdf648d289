import ipaddr from "ipaddr.js";

/** Where the C library is: with glibc, and with musl. */
const LIBRARIES = ["libc.so.6", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1"];

const SYMBOLS = {
  getrlimit: { parameters: ["i32", "buffer"], result: "i32" },
  getpeername: { parameters: ["i32", "buffer", "buffer"], result: "i32" },
  getsockname: { parameters: ["i32", "buffer", "buffer"], result: "i32" },
  getsockopt: { parameters: ["i32", "i32", "i32", "buffer", "buffer"], result: "i32" },
  poll: { parameters: ["buffer", "u64", "i32"], result: "i32" },
  shutdown: { parameters: ["i32", "i32"], result: "i32" },
} as const;

// <bits/resource.h>, <bits/poll.h>, <sys/socket.h>, <netinet/tcp.h> of Linux
const RLIMIT_NOFILE = 7;
const POLLERR = 0x8;
const POLLHUP = 0x10;
const POLLNVAL = 0x20;
const POLLRDHUP = 0x2000;
const SHUT_RDWR = 2;
const AF_INET = 2;
const AF_INET6 = 10;
const IPPROTO_TCP = 6;
const TCP_INFO = 11;
// fields of `struct tcp_info`
const UNACKED = 24;
const LAST_DATA_SENT = 44;
const NOTSENT_BYTES = 144;

/** Connections with higher descriptors are not looked after. */
const MAX_DESCRIPTORS = 65_536;

/** A peer of a connection, comparable: port and address. */
export type Peer = string;

/** One of this process's connections. */
export interface Connection {
  readonly descriptor: number;
  readonly localPort: number;
  readonly peer: Peer;
}

/**
 * What the system knows about this process's connections and the platform does not say: whether a client is
 * still there while its request is being answered (Deno 2.9 looks only at the beginning of short requests),
 * and which connections have been idle.
 *
 * Linux only; calls into the C library, each well below a microsecond.
 */
export class Sockets {
  readonly #library: Deno.DynamicLibrary<typeof SYMBOLS>;
  readonly #libc: Deno.DynamicLibrary<typeof SYMBOLS>["symbols"];
  readonly #address = new Uint8Array(128);
  readonly #length = new Uint32Array(1);
  readonly #info = new DataView(new ArrayBuffer(256));
  readonly #pollfd = new DataView(new ArrayBuffer(8));
  /** `struct pollfd` of every descriptor: its number, then events and what happened. */
  #all = new Int32Array(0);

  private constructor(library: Deno.DynamicLibrary<typeof SYMBOLS>) {
    this.#library = library;
    this.#libc = library.symbols;
  }

  /** undefined where the system is not Linux, or calls into the C library are not permitted. */
  static open(): Sockets | undefined {
    if (Deno.build.os !== "linux") return undefined;
    for (const name of LIBRARIES) {
      try {
        return new Sockets(Deno.dlopen(name, SYMBOLS));
      } catch {
        // another one, or none
      }
    }
    return undefined;
  }

  /** How many descriptors this process may have. */
  get limit(): number {
    const limits = new BigUint64Array(2);
    if (this.#libc.getrlimit(RLIMIT_NOFILE, limits) !== 0) return MAX_DESCRIPTORS;
    return Number(limits[0]! < MAX_DESCRIPTORS ? limits[0] : MAX_DESCRIPTORS);
  }

  /** How many descriptors this process has. */
  get used(): number {
    let used = 0;
    for (const _descriptor of this.#open()) used++;
    return used;
  }

  /** All connections over TCP. */
  *connections(): Generator<Connection> {
    for (const descriptor of this.#open()) {
      const peer = this.peerOf(descriptor);
      const localPort = peer === undefined ? undefined : this.#localPort(descriptor);
      if (peer !== undefined && localPort !== undefined) yield { descriptor, localPort, peer };
    }
  }

  /** Descriptors that are open: one call asks for all. */
  *#open(): Generator<number> {
    const { limit } = this;
    if (this.#all.length !== 2 * limit) {
      this.#all = new Int32Array(2 * limit);
      for (let descriptor = 0; descriptor < limit; descriptor++) {
        this.#all[2 * descriptor] = descriptor;
      }
    }
    this.#libc.poll(new Uint8Array(this.#all.buffer), BigInt(limit), 0);
    for (let descriptor = 0; descriptor < limit; descriptor++) {
      if ((this.#all[2 * descriptor + 1]! >> 16 & POLLNVAL) === 0) yield descriptor;
    }
  }

  /** Whom a descriptor is connected to; undefined when it is no connection, or no longer one. */
  peerOf(descriptor: number): Peer | undefined {
    this.#length[0] = this.#address.length;
    if (this.#libc.getpeername(descriptor, this.#address, this.#bytesOfLength) !== 0) {
      return undefined;
    }
    const [family, , high, low] = this.#address;
    const port = high! << 8 | low!;
    if (family === AF_INET) return peer(port, this.#address.subarray(4, 8));
    if (family === AF_INET6) return peer(port, this.#address.subarray(8, 24));
    return undefined;
  }

  #localPort(descriptor: number): number | undefined {
    this.#length[0] = this.#address.length;
    return this.#libc.getsockname(descriptor, this.#address, this.#bytesOfLength) === 0
      ? this.#address[2]! << 8 | this.#address[3]!
      : undefined;
  }

  /** Whether the other end has closed the connection, or its own half of it. */
  hasLeft(descriptor: number): boolean {
    this.#pollfd.setInt32(0, descriptor, true);
    this.#pollfd.setInt16(4, POLLRDHUP, true);
    this.#pollfd.setInt16(6, 0, true);
    this.#libc.poll(new Uint8Array(this.#pollfd.buffer), 1n, 0);
    return (this.#pollfd.getInt16(6, true) & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)) !== 0;
  }

  /**
   * Since when a connection was sent nothing, and whether data waits for its other end to read; 0 where the
   * system does not say. What comes in does not count: it may drip for hours.
   */
  idle(descriptor: number): { readonly ms: number; readonly unread: boolean } {
    this.#length[0] = this.#info.byteLength;
    const bytes = new Uint8Array(this.#info.buffer);
    const failed = this.#libc.getsockopt(
      descriptor,
      IPPROTO_TCP,
      TCP_INFO,
      bytes,
      this.#bytesOfLength,
    ) !== 0;
    if (failed || this.#length[0] < NOTSENT_BYTES + 4) return { ms: 0, unread: false };
    const waiting = this.#info.getUint32(UNACKED, true) + this.#info.getUint32(NOTSENT_BYTES, true);
    return { ms: this.#info.getUint32(LAST_DATA_SENT, true), unread: waiting > 0 };
  }

  /** Ends a connection; the platform notices and closes it. */
  end(descriptor: number): void {
    this.#libc.shutdown(descriptor, SHUT_RDWR);
  }

  close(): void {
    this.#library.close();
  }

  get #bytesOfLength(): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.#length.buffer);
  }
}

/** IPv4 in IPv6 is the same peer as IPv4. */
function peer(port: number, address: Uint8Array): Peer {
  const mapped = address.length === 16 &&
    address.subarray(0, 12).every((byte, at) => byte === (at < 10 ? 0 : 0xff));
  return `${port} ${(mapped ? address.subarray(12) : address).join(".")}`;
}

/** A peer as the platform gives it; undefined for one that has no address. */
export function peerFrom(address: Deno.Addr | undefined): Peer | undefined {
  if (address === undefined || !("hostname" in address)) return undefined;
  const { hostname, port } = address;
  if (!ipaddr.isValid(hostname)) return undefined;
  return peer(port, Uint8Array.from(ipaddr.parse(hostname).toByteArray()));
}

/** Open files that are not connections of requests: database, log, listener, idle keep-alive connections. */
const RESERVED = 128;
/** A request in progress has its client's connection and one to an upstream. */
const PER_REQUEST = 2;
const MAX_OPEN_REQUESTS = 16_384;

/** Requests in progress that a limit of open files leaves room for. */
export function openRequestsFor(descriptors: number | undefined): number {
  if (descriptors === undefined) return MAX_OPEN_REQUESTS;
  const room = Math.floor((descriptors - RESERVED) / PER_REQUEST);
  return Math.min(MAX_OPEN_REQUESTS, Math.max(room, 16));
}
