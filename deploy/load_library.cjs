/**
 * Loads libSQL in the executable, which holds it compressed: `compile.ts` makes this the main file of its package.
 *
 * The system loads a library only from a file. The first start of a version unpacks it into the directory for
 * temporary files; later ones use that file if nobody else can have written it.
 */

const process = require("node:process");
const fs = require("node:fs");
const { tmpdir } = require("node:os");
const { join } = require("node:path");
const { brotliDecompressSync } = require("node:zlib");
const { digest, bytes } = require("./library.json");

const userId = process.getuid?.(); // undefined on Windows, where each user has a directory for temporary files
const usual = join(tmpdir(), `sluice-libsql-${userId ?? ""}-${digest.slice(0, 16)}.node`);

module.exports = require(isTrusted(usual) ? usual : unpack());

/** Whether the file is the one that an earlier start has unpacked. */
function isTrusted(path) {
  try {
    const about = fs.lstatSync(path);
    if (!about.isFile() || about.size !== bytes) return false;
    return userId === undefined || (about.uid === userId && (about.mode & 0o022) === 0);
  } catch {
    return false;
  }
}

/** Writes the library to a file. Returns its path: the usual one, unless another user has taken that name. */
function unpack() {
  const own = fs.mkdtempSync(join(tmpdir(), "sluice-"));
  const path = join(own, "libsql.node");
  const file = fs.openSync(path, "wx", 0o700);
  fs.writeFileSync(file, brotliDecompressSync(fs.readFileSync(join(__dirname, "library.br"))));
  fs.fsyncSync(file); // its size must not outlive its content when power is lost
  fs.closeSync(file);
  try {
    fs.renameSync(path, usual);
  } catch {
    return path;
  }
  fs.rmdirSync(own);
  return usual;
}
