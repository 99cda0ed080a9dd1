// How the server is started: pure, so that a test can start it as the extension does.

import { isAbsolute, join } from "node:path";

export interface Command {
  command: string;
  args: string[];
  options: { cwd: string | undefined };
}

/** `words` are the setting `zerograd.command`; `folder` is the workspace's, if one is open. */
export function serverCommand(words: readonly string[], folder: string | undefined): Command {
  const [first = "zerograd", ...rest] = words;
  const isPath = first.includes("/") || first.includes("\\");
  const command = isPath && !isAbsolute(first) && folder ? join(folder, first) : first;
  return { command, args: [...rest, "server"], options: { cwd: folder } };
}

/** What is said where it cannot be started. */
export function notStarted(command: Command, why: string): string {
  const started = [command.command, ...command.args].join(" ");
  return `zerograd: "${started}" did not start (${why}). Install it, and pygls beside it, or name it in the setting zerograd.command.`;
}
