/** How requests reach a service that has the model in the path. */
export interface ModelPath {
  /** Path with `{model}` and `{method}`. */
  readonly template: string;
  /** What `{method}` is for a whole reply and for a stream. */
  readonly methods: { readonly whole: string; readonly stream: string };
}

/** The path of one request. */
export function modelPath(
  { template, methods }: ModelPath,
  { model, stream }: { readonly model: string; readonly stream: boolean },
): string {
  return template.replaceAll("{model}", () => encodeURIComponent(model))
    .replaceAll("{method}", () => stream ? methods.stream : methods.whole);
}
