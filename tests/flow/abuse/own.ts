import { type Database, DatabaseError } from "../../../src/ground/database/mod.ts";
import { guardedDatabase } from "../../fake/guarded_database.ts";
import { until } from "../../fake/temp.ts";
import {
  type Bench,
  chatBody,
  error,
  failedStream,
  free,
  NOT_RECORDED,
  type Row,
  type RunRow,
  seenOf,
} from "./row.ts";
import { hang, streamThen } from "./upstreams.ts";

const UNAVAILABLE = error(503, "service_unavailable");

/** A database whose uses of this name fail while `run` asks for a chat. */
function failing(
  use: string,
  fault: () => Error,
): Pick<RunRow, "wrapDatabase" | "run"> {
  let fails = false;
  return {
    wrapDatabase: (database: Database) =>
      guardedDatabase(database, (name) => {
        if (fails && name === use) throw fault();
      }),
    async run({ chat }: Bench) {
      fails = true;
      try {
        return await chat();
      } finally {
        fails = false;
      }
    },
  };
}

export const OWN: readonly Row[] = [
  {
    name: "the database cannot be used",
    sent: "a request while the database cannot be reached or written to",
    clientSees: UNAVAILABLE,
    charged: NOT_RECORDED,
    logged: ["error request failed"],
    ...failing("admission", () => new DatabaseError("SQLITE_IOERR", "the disk is gone")),
  },
  {
    name: "the disk fails before the charge",
    sent: "a complete response whose charge cannot be written",
    clientSees: UNAVAILABLE,
    charged: free("refused"),
    logged: [
      "error a request was not settled",
      "error request failed",
      "warn a request is not settled yet",
      "info request",
    ],
    ...failing("settlement", () => new DatabaseError("SQLITE_IOERR", "the disk is gone")),
  },
  {
    name: "the disk is full",
    sent: "requests while the disk of the data directory has no room",
    clientSees: UNAVAILABLE,
    charged: "nothing; requests succeed again as soon as there is room",
    logged: ["error request failed"],
    proof: { file: "tests/flow/faults_test.ts", test: "the disk is full" },
  },
  {
    name: "credits of a gateway that is gone",
    sent: "a request that lacks credits which a gateway was lent that is gone",
    clientSees: UNAVAILABLE,
    charged: "nothing; not recorded",
    logged: ["info request refused"],
    proof: { file: "tests/requests/admission/dead_gateway_test.ts", test: "credits that a killed" },
  },
  {
    name: "a budget of which a gateway that is gone was lent",
    sent: "a request whose budget lacks what a gateway was lent that is gone",
    clientSees: error(403, "insufficient_credits"),
    charged: "nothing; not recorded",
    logged: ["info request refused"],
    proof: { file: "tests/requests/admission/dead_gateway_test.ts", test: "a budget of which" },
  },
  {
    name: "a request to a gateway that shuts down",
    sent: "a request after SIGTERM",
    clientSees: UNAVAILABLE,
    charged: NOT_RECORDED,
    logged: [],
    endsGateway: true,
    run({ gateway, chat }) {
      gateway.gateway.app.stopTaking();
      return chat();
    },
  },
  {
    name: "a stream that outlasts the shutdown",
    sent: "a stream that has not ended `limits.drainMs` after SIGTERM",
    clientSees: failedStream("service_unavailable"),
    charged: free("refused"),
    logged: ["info request"],
    upstreams: [streamThen(hang)],
    endsGateway: true,
    async run({ gateway, key }) {
      const body = chatBody({ stream: true });
      const reply = await gateway.post("/v1/chat/completions", body, { key });
      const seen = seenOf(reply);
      await until(() => gateway.gateway.inFlight.count === 1, { what: "the stream" });
      gateway.gateway.app.stopTaking();
      await gateway.gateway.inFlight.finish(100);
      return await seen;
    },
  },
  {
    name: "the process is killed",
    sent: "`kill -9` under load",
    clientSees: "closed",
    charged: "each complete response, once; nothing else, and holds are released",
    logged: [],
    proof: { file: "tests/flow/crash_test.ts", test: "killed under load" },
  },
  {
    name: "a bug",
    sent: "an unexpected exception",
    clientSees: error(500, "internal_error"),
    charged: NOT_RECORDED,
    logged: ["error request failed"],
    ...failing("admission", () => new TypeError("undefined is not a function")),
  },
  {
    name: "a bug that nothing catches",
    sent: "an unhandled rejection or error while the gateway serves",
    clientSees: { status: 200, code: undefined },
    charged: "as usual: the process goes on, and `sluice_unhandled_errors_total` counts it",
    logged: ["error unhandled error: this is a bug, please report it"],
    proof: {
      file: "tests/ground/telemetry/process_guard_test.ts",
      test: "are logged with their stack",
    },
  },
];
