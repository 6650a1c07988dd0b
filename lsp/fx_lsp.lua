-- Neovim 0.11 or later reads this file from a folder `lsp` on its runtime path. To start fx-lsp for Python files, call
-- vim.lsp.enable("fx_lsp"). See docs/editors/neovim.md.
return {
  cmd = { "fx-lsp" },
  filetypes = { "python" },
  root_markers = { "pyproject.toml", ".git" },
}
