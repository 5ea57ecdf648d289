/** Threads without a file, by whether they only read: those have a low priority for good. */
const free = { reading: [] as Worker[], writing: [] as Worker[] };
/** How many of each are kept. */
let kept = 0;

/** What a thread is for. */
export type FileThreadUse = keyof typeof free;

/**
 * Keeps threads whose file was closed for files that are opened later: starting one takes some 60 ms. For a process that
 * opens many files, one after the other, such as a test. Threads that are kept keep their process from ending by itself.
 *
 * @param count How many of each use at most; 0, with which a process starts, keeps none.
 */
export function keepFileThreads(count: number): void {
  kept = count;
  for (const threads of Object.values(free)) {
    for (const thread of threads.splice(kept)) thread.terminate();
  }
}

/** A thread for a file: one that is free, or a new one. */
export function takeFileThread(use: FileThreadUse): Worker {
  return free[use].pop() ?? new Worker(new URL("./embedded_worker.ts", import.meta.url), {
    type: "module",
    name: "database",
  });
}

/** Takes back a thread that has closed its file and may open any other. */
export function giveFileThread(thread: Worker, use: FileThreadUse): void {
  thread.onmessage = null;
  thread.onerror = null;
  if (free[use].length < kept) free[use].push(thread);
  else thread.terminate();
}
