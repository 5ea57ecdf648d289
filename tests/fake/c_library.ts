/** Whether `faulty.c` can be compiled and loaded here. */
export const canCompile: boolean = Deno.build.os === "linux" &&
  await new Deno.Command("cc", { args: ["--version"] }).output()
    .then(({ success }) => success, () => false);
