// As much of VS Code's own module as the client asks for while one file is open. What nobody looks at is made up on the spot.

const { fileURLToPath, pathToFileURL } = require("node:url");
const { readFileSync } = require("node:fs");

class Disposable {
  constructor(dispose = () => {}) {
    this.dispose = dispose;
  }
}
class Emitter {
  listeners = new Set();
  event = (listener) => (this.listeners.add(listener), new Disposable(() => this.listeners.delete(listener)));
  fire(value) {
    for (const listener of this.listeners) listener(value);
  }
  dispose() {}
}
class Position {
  constructor(line, character) {
    Object.assign(this, { line, character });
  }
}
class Range {
  constructor(start, end, line, character) {
    Object.assign(this, typeof start === "number" ? { start: new Position(start, end), end: new Position(line, character) } : { start, end });
  }
}
class Uri {
  constructor(text) {
    const url = new URL(text);
    Object.assign(this, { scheme: url.protocol.slice(0, -1), path: decodeURIComponent(url.pathname), text });
  }
  get fsPath() {
    return fileURLToPath(this.text);
  }
  toString() {
    return this.text;
  }
  static parse = (text) => new Uri(text);
  static file = (path) => new Uri(pathToFileURL(path).href);
}
class Diagnostic {
  constructor(range, message, severity) {
    Object.assign(this, { range, message, severity });
  }
}
class Location {
  constructor(uri, range) {
    Object.assign(this, { uri, range });
  }
}
class DiagnosticRelatedInformation {
  constructor(location, message) {
    Object.assign(this, { location, message });
  }
}
class CodeAction {
  constructor(title, kind) {
    Object.assign(this, { title, kind });
  }
}
class WorkspaceEdit {
  edits = [];
  replace(uri, range, text) {
    this.edits.push({ uri, range, text });
  }
  insert = (uri, position, text) => this.replace(uri, position, text);
  delete = (uri, range) => this.replace(uri, range, "");
}
class CodeActionKind {
  constructor(value) {
    this.value = value;
  }
  append(part) {
    return new CodeActionKind(this.value ? `${this.value}.${part}` : part);
  }
  static Empty = new CodeActionKind("");
  static QuickFix = new CodeActionKind("quickfix");
}
class MarkdownString {
  constructor(value) {
    this.value = value;
  }
  appendMarkdown(text) {
    this.value = (this.value ?? "") + text;
    return this;
  }
  appendCodeblock(text) {
    return this.appendMarkdown(text);
  }
}

class CancellationTokenSource {
  token = { isCancellationRequested: false, onCancellationRequested: () => new Disposable() };
  cancel() {}
  dispose() {}
}

const MADE_UP = (key) => typeof key === "string" && key !== "then" && key !== "toJSON"; // else `await` would wait for it

/** Anything else: a class, a function, a namespace or an event, whichever it is used as. */
function anything(name) {
  const made = class {
    constructor(...given) {
      this.given = given;
    }
    dispose() {}
  };
  return new Proxy(made, {
    get: (target, key) => (key in target ? target[key] : MADE_UP(key) ? (target[key] = anything(`${name}.${key}`)) : undefined),
    apply: () => new Disposable(),
  });
}
const rest = (name, known) =>
  new Proxy(known, { get: (target, key) => (key in target || !MADE_UP(key) ? target[key] : (target[key] = anything(`${name}.${key}`))) });

function opened(path) {
  const text = readFileSync(path, "utf8");
  return { uri: Uri.file(path), fileName: path, languageId: "python", version: 1, isClosed: false, getText: () => text };
}

/** VS Code with a folder and one of its files open. `seen` is what an extension has given it. */
function editor(folder, path, command) {
  const seen = { diagnostics: new Map(), providers: {}, errors: [], commands: {} };
  const configured = new Emitter();
  const event = () => new Disposable();
  const collection = {
    set: (uri, found) => seen.diagnostics.set(uri.toString(), found),
    get: (uri) => seen.diagnostics.get(uri.toString()),
    delete: (uri) => seen.diagnostics.delete(uri.toString()),
    has: (uri) => seen.diagnostics.has(uri.toString()),
    clear: () => seen.diagnostics.clear(),
    dispose() {},
  };
  const register = (name) => (selector, provider) => ((seen.providers[name] = provider), new Disposable());
  const document = opened(path);
  const vscode = rest("vscode", {
    version: "1.91.0",
    Disposable, EventEmitter: Emitter, Position, Range, Uri, Diagnostic, CodeActionKind, MarkdownString,
    CancellationTokenSource, Location, DiagnosticRelatedInformation, CodeAction, WorkspaceEdit,
    DiagnosticSeverity: { Error: 0, Warning: 1, Information: 2, Hint: 3 },
    CodeActionTriggerKind: { Invoke: 1, Automatic: 2 },
    env: rest("env", { appName: "test", language: "en" }),
    commands: rest("commands", {
      registerCommand: (name, run) => ((seen.commands[name] = run), new Disposable()),
    }),
    languages: rest("languages", {
      match: (selector, one) => ([selector].flat().some((filter) => filter.language === one.languageId) ? 10 : 0),
      createDiagnosticCollection: () => collection,
      registerHoverProvider: register("hover"),
      registerCodeActionsProvider: register("codeActions"),
    }),
    window: rest("window", {
      activeTextEditor: undefined, visibleTextEditors: [], tabGroups: { all: [], onDidChangeTabs: event },
      createOutputChannel: () => ({ append() {}, appendLine() {}, show() {}, dispose() {}, replace() {}, clear() {} }),
      showErrorMessage: async (text) => void seen.errors.push(text),
      showInformationMessage: async () => {}, showWarningMessage: async () => {},
    }),
    workspace: rest("workspace", {
      textDocuments: [document], notebookDocuments: [], isTrusted: true,
      workspaceFolders: [{ uri: Uri.file(folder), name: "folder", index: 0 }],
      getConfiguration: () => ({ get: (key, usual) => (key === "command" ? command : usual), inspect: () => undefined, has: () => false }),
      getWorkspaceFolder: () => ({ uri: Uri.file(folder), name: "folder", index: 0 }),
      onDidChangeConfiguration: configured.event,
      createFileSystemWatcher: () => ({ onDidCreate: event, onDidChange: event, onDidDelete: event, dispose() {} }),
    }),
  });
  return { vscode, seen, document, reconfigured: () => configured.fire({ affectsConfiguration: () => true }) };
}

module.exports = { editor };
