// The client of `helioc lsp`: see docs/editors.md.
const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

function activate() {
  const command = workspace.getConfiguration("helio").get("command");
  const server = { command, args: ["lsp"] };
  const documents = { documentSelector: [{ scheme: "file", language: "helio" }] };
  client = new LanguageClient("helio", "Helio", server, documents);
  return client.start();
}

function deactivate() {
  return client && client.stop();
}

module.exports = { activate, deactivate };
