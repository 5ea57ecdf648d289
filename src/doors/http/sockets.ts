import { cFunctions } from "../../ground/platform/mod.ts";
import { type Peer, peerOf, portOf } from "./peer.ts";
import { anyOf, encoded, HEADERS_ONLY, type Instruction, WITHOUT_HTTP2 } from "./socket_filters.ts";

const SYMBOLS = {
  getrlimit: { parameters: ["i32", "buffer"], result: "i32" },
  getpeername: { parameters: ["i32", "buffer", "buffer"], result: "i32" },
  getsockname: { parameters: ["i32", "buffer", "buffer"], result: "i32" },
  listen: { parameters: ["i32", "i32"], result: "i32" },
  ioctl: { parameters: ["i32", "u64", "buffer"], result: "i32" },
  getsockopt: { parameters: ["i32", "i32", "i32", "buffer", "buffer"], result: "i32" },
  poll: { parameters: ["buffer", "u64", "i32"], result: "i32" },
  setsockopt: { parameters: ["i32", "i32", "i32", "buffer", "u32"], result: "i32" },
  shutdown: { parameters: ["i32", "i32"], result: "i32" },
} as const;

// from Linux: <bits/fcntl-linux.h>, <bits/resource.h>, <bits/poll.h>, <sys/socket.h>, <netinet/tcp.h>
const RLIMIT_NOFILE = 7;
const POLLIN = 0x1;
const POLLERR = 0x8;
const POLLHUP = 0x10;
const POLLNVAL = 0x20;
const POLLRDHUP = 0x2000;
const LEFT = POLLRDHUP | POLLHUP | POLLERR | POLLNVAL;
const SHUT_RDWR = 2;
const SOL_SOCKET = 1;
const SO_ACCEPTCONN = 30;
const SO_RCVBUF = 8;
const SO_LINGER = 13;
const SO_ATTACH_FILTER = 26;
const SO_ATTACH_REUSEPORT_CBPF = 51;
const SO_MEMINFO = 55;
const MEMINFO_DROPS = 8; // SK_MEMINFO_DROPS of <linux/sock_diag.h>
const FIONREAD = 0x541bn;
const AF_INET = 2;
const AF_INET6 = 10;
const IPPROTO_TCP = 6;
const TCP_INFO = 11;
// offsets in `struct tcp_info`
const UNACKED = 24;
const LAST_DATA_SENT = 44;
const BYTES_RECEIVED = 128;
const NOTSENT_BYTES = 144;

/** Connections that may wait to be accepted, unless the system allows fewer (`net.core.somaxconn`). */
const BACKLOG = 4_096;
/** Max descriptors that are checked. */
const MAX_DESCRIPTORS = 65_536;
/** Descriptors beyond the highest that are checked, too. */
const MORE_DESCRIPTORS = 1_024;
/** One in this many counts of open descriptors is of all that there may be: tens of thousands take a millisecond or two. */
const COUNTS = 20;

/** A TCP connection of this process. */
export interface Connection {
  readonly descriptor: number;
  readonly localPort: number;
  readonly peer: Peer;
}

/**
 * Queries the system about this process's connections: whether a client is still connected while its request is served
 * (Deno 2.9 checks only at the start of short requests), and how long connections have been idle.
 *
 * Linux only. Calls the C library; each call takes well under a microsecond.
 */
export class Sockets {
  readonly #libc: Deno.DynamicLibrary<typeof SYMBOLS>["symbols"];
  readonly #address = new Uint8Array(128);
  readonly #length = new Uint32Array(1);
  readonly #bytesOfLength = new Uint8Array(this.#length.buffer);
  readonly #info = new DataView(new ArrayBuffer(256));
  readonly #pollfd = new DataView(new ArrayBuffer(8));
  /** A `struct pollfd` per descriptor: its number, then requested and returned events. */
  #all = new Int32Array(0);
  /** The highest descriptor that was open since all were queried. */
  #highest = 0;
  #counts = 0;
  /** Descriptors that the system was asked about, in all. */
  queried = 0;

  private constructor(libc: Deno.DynamicLibrary<typeof SYMBOLS>["symbols"]) {
    this.#libc = libc;
  }

  /**
   * Opens the C library.
   *
   * @returns `undefined` if the system is not Linux, or if calls into the C library are not permitted.
   */
  static open(): Sockets | undefined {
    if (Deno.build.os !== "linux") return undefined;
    const libc = cFunctions(SYMBOLS);
    return libc && new Sockets(libc);
  }

  /** Max number of file descriptors of this process. */
  get limit(): number {
    const limits = new BigUint64Array(2);
    if (this.#libc.getrlimit(RLIMIT_NOFILE, limits) !== 0) return MAX_DESCRIPTORS;
    return Number(limits[0]! < MAX_DESCRIPTORS ? limits[0] : MAX_DESCRIPTORS);
  }

  /** Number of open file descriptors. */
  get used(): number {
    if (this.#counts++ % COUNTS === 0) this.queryAll();
    return this.descriptors().length;
  }

  /**
   * Yields TCP connections of this process, as {@linkcode descriptors} finds them.
   *
   * @param ports Only connections whose other end has one of these ports; all by default.
   */
  *connections(ports?: ReadonlySet<number>): Generator<Connection> {
    for (const descriptor of this.descriptors()) {
      if (ports !== undefined && !ports.has(this.peerPort(descriptor))) continue;
      const peer = this.peerOf(descriptor);
      if (peer === undefined) continue;
      const localPort = this.#localPort(descriptor);
      if (localPort !== undefined) yield { descriptor, localPort, peer };
    }
  }

  /**
   * Finds a connection by its other end.
   *
   * @param localPort The port at this end, if it is known: the process may have another connection with the same other end.
   * @returns Its descriptor.
   */
  connectionOf(peer: Peer, localPort?: number): number | undefined {
    const find = () =>
      this.connections(new Set([portOf(peer)]))
        .find((one) => one.peer === peer && one.localPort === (localPort ?? one.localPort))
        ?.descriptor;
    const found = find();
    if (found !== undefined || this.#highest + MORE_DESCRIPTORS >= this.limit) return found;
    this.queryAll(); // it may be far beyond
    return find();
  }

  /**
   * Returns open descriptors, cheaply: those far beyond any that was open before are missed, until all are queried again.
   * A system gives a new file the lowest number that is free.
   */
  descriptors(): readonly number[] {
    for (;;) {
      const count = this.#pollAll(this.#highest + MORE_DESCRIPTORS);
      const open: number[] = [];
      for (let descriptor = 0; descriptor < count; descriptor++) {
        if (this.#isOpen(descriptor)) open.push(descriptor);
      }
      const isAll = count === this.limit;
      this.#highest = isAll ? open.at(-1) ?? 0 : Math.max(this.#highest, open.at(-1) ?? 0);
      // many were opened at once: there may be more of them
      if (isAll || this.#highest < count - MORE_DESCRIPTORS / 2) return open;
    }
  }

  /** Has all descriptors queried the next time. */
  queryAll(): void {
    this.#highest = this.limit;
  }

  /** Queries the descriptors below a number. Returns how many there may be. */
  #pollAll(below: number): number {
    const { limit } = this;
    if (this.#all.length !== 2 * limit) {
      this.#all = new Int32Array(2 * limit);
      for (let descriptor = 0; descriptor < limit; descriptor++) {
        this.#all[2 * descriptor] = descriptor;
      }
    }
    const count = Math.min(limit, below);
    this.queried += count;
    this.#libc.poll(new Uint8Array(this.#all.buffer), BigInt(count), 0);
    return count;
  }

  /** Whether a descriptor was open when all were queried. */
  #isOpen(descriptor: number): boolean {
    return (this.#all[2 * descriptor + 1]! >> 16 & POLLNVAL) === 0;
  }

  /**
   * Returns the other end of a connection.
   *
   * @returns `undefined` if the descriptor is not, or no longer, a connection.
   */
  peerOf(descriptor: number): Peer | undefined {
    const port = this.peerPort(descriptor);
    if (port < 0) return undefined;
    const [family] = this.#address;
    if (family === AF_INET) return peerOf(port, this.#address.subarray(4, 8));
    if (family === AF_INET6) return peerOf(port, this.#address.subarray(8, 24));
    return undefined;
  }

  /** Returns the client of a connection that was made to a port of this process; `undefined` if the descriptor is none. */
  clientOf(descriptor: number, port: number): Peer | undefined {
    return this.#localPort(descriptor) === port ? this.peerOf(descriptor) : undefined;
  }

  /** Reads the address of the other end. Returns its port, which is 0 without one, and -1 if there is no other end. */
  peerPort(descriptor: number): number {
    this.#length[0] = this.#address.length;
    return this.#libc.getpeername(descriptor, this.#address, this.#bytesOfLength) === 0
      ? this.#address[2]! << 8 | this.#address[3]!
      : -1;
  }

  /** Whether the address that was read last is one of the internet. */
  get #isInternet(): boolean {
    return this.#address[0] === AF_INET || this.#address[0] === AF_INET6;
  }

  #localPort(descriptor: number): number | undefined {
    this.#length[0] = this.#address.length;
    return this.#libc.getsockname(descriptor, this.#address, this.#bytesOfLength) === 0
      ? this.#address[2]! << 8 | this.#address[3]!
      : undefined;
  }

  /** Returns whether the other end has closed the connection, or its half of it. */
  hasLeft(descriptor: number): boolean {
    return (this.#poll(descriptor, POLLRDHUP) & LEFT) !== 0;
  }

  /** Returns whether data has come that was not read, from an end that is still there. */
  hasInput(descriptor: number): boolean {
    const events = this.#poll(descriptor, POLLIN | POLLRDHUP);
    return (events & POLLIN) !== 0 && (events & LEFT) === 0;
  }

  /** Returns which of some events a descriptor has; errors always. */
  #poll(descriptor: number, events: number): number {
    this.#pollfd.setInt32(0, descriptor, true);
    this.#pollfd.setInt16(4, events, true);
    this.#pollfd.setInt16(6, 0, true);
    this.#libc.poll(new Uint8Array(this.#pollfd.buffer), 1n, 0);
    return this.#pollfd.getInt16(6, true);
  }

  /**
   * Returns how long nothing was sent on a connection. Received data does not count, since it could drip in for hours.
   *
   * @returns Milliseconds, 0 if unknown, and whether sent data is still unread by the other end.
   */
  idle(descriptor: number): { readonly ms: number; readonly unread: boolean } {
    if (!this.#readInfo(descriptor, NOTSENT_BYTES + 4)) return { ms: 0, unread: false };
    const waiting = this.#info.getUint32(UNACKED, true) + this.#info.getUint32(NOTSENT_BYTES, true);
    return { ms: this.#info.getUint32(LAST_DATA_SENT, true), unread: waiting > 0 };
  }

  /** Returns the number of bytes that have come on a connection, whether read or not; `undefined` if unknown. */
  received(descriptor: number): number | undefined {
    return this.#readInfo(descriptor, BYTES_RECEIVED + 8)
      ? Number(this.#info.getBigUint64(BYTES_RECEIVED, true))
      : undefined;
  }

  /** Returns the number of bytes that have come on a connection and were not read. */
  unread(descriptor: number): number {
    const bytes = new Int32Array(1);
    const isKnown = this.#libc.ioctl(descriptor, FIONREAD, new Uint8Array(bytes.buffer)) === 0;
    return isKnown ? bytes[0]! : 0;
  }

  /** Returns the number of packets of a connection that the system has dropped, as for {@linkcode refuseHttp2}. */
  dropped(descriptor: number): number {
    const numbers = new Uint32Array(MEMINFO_DROPS + 1);
    this.#length[0] = numbers.byteLength;
    const bytes = new Uint8Array(numbers.buffer);
    const { getsockopt } = this.#libc;
    return getsockopt(descriptor, SOL_SOCKET, SO_MEMINFO, bytes, this.#bytesOfLength) === 0
      ? numbers[MEMINFO_DROPS]!
      : 0;
  }

  /** Reads `struct tcp_info` of a connection. Returns whether the system knows that much of it. */
  #readInfo(descriptor: number, bytes: number): boolean {
    this.#length[0] = this.#info.byteLength;
    const info = new Uint8Array(this.#info.buffer);
    const { getsockopt } = this.#libc;
    return getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, info, this.#bytesOfLength) === 0 &&
      this.#length[0] >= bytes;
  }

  /**
   * Spreads new connections of a port over some of the sockets that listen there, in the order in which they began to
   * (socket(7), SO_ATTACH_REUSEPORT_CBPF). When another process is to stop listening, none of them is waiting there.
   *
   * @param to Number of sockets before them, and number of them.
   * @returns Whether the system does so.
   */
  steer(
    port: number,
    { after, count }: { readonly after: number; readonly count: number },
  ): boolean {
    const [listener] = this.listeners(port);
    if (listener === undefined) return false;
    return this.#attach(listener, SO_ATTACH_REUSEPORT_CBPF, anyOf(after, count));
  }

  /**
   * Drops packets that begin as HTTP/2 does, on connections that are made to a port from now on: the platform would take
   * control frames without a limit, and offers no way to switch HTTP/2 off. No request of HTTP/1.1 has these bytes, and no JSON
   * text. A client may evade this by cutting them in two; such connections are bounded as all others are.
   *
   * @returns Whether the system does so.
   */
  refuseHttp2(port: number): boolean {
    let isRefused = false;
    for (const listener of this.listeners(port)) {
      isRefused = this.#attach(listener, SO_ATTACH_FILTER, WITHOUT_HTTP2);
    }
    return isRefused;
  }

  /**
   * Has more connections wait to be accepted than Deno does (2.4: 128, 2.9: 511). Of one that finds no place, the client believes that it is
   * open, and the gateway never learns of it unless the client sends something.
   */
  extendBacklog(port: number): void {
    for (const listener of this.listeners(port)) this.#libc.listen(listener, BACKLOG);
  }

  /** Attaches a program (socket(7)) to a socket. Returns whether the system took it. */
  #attach(descriptor: number, option: number, instructions: readonly Instruction[]): boolean {
    const code = encoded(instructions);
    const program = new DataView(new ArrayBuffer(16)); // struct sock_fprog
    program.setUint16(0, instructions.length, true);
    program.setBigUint64(8, Deno.UnsafePointer.value(Deno.UnsafePointer.of(code)), true);
    const bytes = new Uint8Array(program.buffer);
    const { setsockopt } = this.#libc;
    return setsockopt(descriptor, SOL_SOCKET, option, bytes, bytes.length) === 0;
  }

  /** Yields the sockets of this process that listen on a port. */
  *listeners(port: number): Generator<number> {
    this.queryAll();
    for (const descriptor of this.descriptors()) {
      if (this.listens(descriptor, port)) yield descriptor;
    }
  }

  /** Returns whether a descriptor is a socket that listens on a port. */
  listens(descriptor: number, port: number): boolean {
    if (this.#localPort(descriptor) !== port || !this.#isInternet) return false;
    const listens = new Uint32Array(1);
    const bytes = new Uint8Array(listens.buffer);
    const { getsockopt } = this.#libc;
    this.#length[0] = 4;
    return getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, bytes, this.#bytesOfLength) === 0 &&
      listens[0] === 1;
  }

  /** Shuts a connection down. The platform notices and closes it. */
  end(descriptor: number): void {
    this.#libc.shutdown(descriptor, SHUT_RDWR);
  }

  /**
   * Drops the bytes that come on a connection from now on; acknowledgements still count. Whole packets must not be dropped: a
   * connection that was closed meanwhile would wait for its last acknowledgement, and its client's port could not be used again.
   */
  mute(descriptor: number): void {
    this.#attach(descriptor, SO_ATTACH_FILTER, HEADERS_ONLY);
  }

  /** Lets no more than some bytes wait in the system, which keeps room for twice as many (socket(7), SO_RCVBUF). */
  narrow(descriptor: number, bytes: number): void {
    const size = new Uint8Array(Int32Array.of(bytes).buffer);
    this.#libc.setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, size, size.length);
  }

  /** Shuts a connection down, and has the system tell the client so, which may not even be allowed to send any more. */
  reset(descriptor: number): void {
    const linger = new Uint8Array(Int32Array.of(1, 0).buffer); // on, for no time
    this.#libc.setsockopt(descriptor, SOL_SOCKET, SO_LINGER, linger, linger.length);
    this.end(descriptor);
  }
}
