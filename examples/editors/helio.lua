-- Neovim's client of `helioc lsp`: see docs/editors.md.
return {
  cmd = { "helioc", "lsp" },
  filetypes = { "helio" },
  root_markers = { ".git" },
}
