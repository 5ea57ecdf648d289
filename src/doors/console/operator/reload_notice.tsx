import { Time } from "../components.tsx";
import type { LastReload } from "../request.tsx";

/** What an operator should know about the last reload of the settings. */
export function ReloadNotice({ reload }: { reload: LastReload | undefined }) {
  if (reload === undefined) return null;
  const { atMs, fault, needRestart } = reload;
  if (fault !== null) {
    return (
      <div class="notice bad">
        <div role="status">
          <p>
            The settings were not reloaded at <Time ms={atMs} />; those below stay in use.
          </p>
          {fault.split("\n").map((line) => <p>{line}</p>)}
        </div>
      </div>
    );
  }
  return (
    <p class="quiet">
      Settings reloaded at <Time ms={atMs} />.{needRestart.length === 0
        ? ""
        : ` A restart is needed to apply: ${needRestart.join(", ")}.`}
    </p>
  );
}
