/** Models to choose from. */
export function ModelChoice(
  { models, chosen }: { models: readonly string[]; chosen: readonly string[] },
) {
  return (
    <fieldset class="field">
      <legend>Models (all if none is selected)</legend>
      <div class="options">
        {[...new Set([...models, ...chosen])].map((id) => (
          <label>
            <input type="checkbox" name="models" value={id} checked={chosen.includes(id)} />
            <span>{id}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}
