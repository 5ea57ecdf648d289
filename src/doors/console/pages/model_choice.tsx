/** Models to choose from: all of them, or those that are ticked. A form that lost its ticks says neither, and is rejected. */
export function ModelChoice(
  { models, chosen }: {
    models: readonly string[];
    /** `null`: all. */
    chosen: readonly string[] | null;
  },
) {
  return (
    <fieldset class="field">
      <legend>Models</legend>
      <div class="options">
        <label>
          <input type="radio" name="allow" value="all" checked={chosen === null} required />
          <span>all models</span>
        </label>
        <label>
          <input type="radio" name="allow" value="listed" checked={chosen !== null} required />
          <span>only these</span>
        </label>
      </div>
      <div class="options">
        {[...new Set([...models, ...chosen ?? []])].map((id) => (
          <label>
            <input
              type="checkbox"
              name="models"
              value={id}
              checked={chosen?.includes(id) ?? false}
            />
            <span>{id}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}
