-- A session in Neovim without a screen: what its own client makes of the server, as JSON in the file $FX_SEEN.
-- $FX_SERVER is the server's command line as JSON, $FX_OPTIONS its initializationOptions, $FX_FILE what is opened, and
-- $FX_ROOT the folder of this checkout.

local PATIENCE = 120000 -- milliseconds

local seen = {}

local function wait(what, happened)
  assert(vim.wait(PATIENCE, happened, 20), "waited in vain for " .. what)
end

local function ask(client, method, params)
  local answer, problem = client.request_sync(method, params, PATIENCE, 0)
  assert(answer and not answer.err, method .. ": " .. vim.inspect(problem or answer.err))
  return answer.result
end

local function place(text)
  vim.fn.cursor(1, 1)
  assert(vim.fn.search("\\V" .. text, "cW") > 0, text)
end

-- The client, as docs/editors/neovim.md has it for this version.
local function start()
  local config = {
    cmd = vim.json.decode(os.getenv("FX_SERVER")),
    init_options = vim.json.decode(os.getenv("FX_OPTIONS")),
  }
  if vim.lsp.config then -- 0.11: the rest is in lsp/fx_lsp.lua
    vim.opt.runtimepath:append(os.getenv("FX_ROOT"))
    vim.lsp.config("fx_lsp", config)
    vim.lsp.enable("fx_lsp")
    vim.lsp.inlay_hint.enable(true)
    vim.bo.filetype = "python"
    wait("the server", function() return #vim.lsp.get_clients({ name = "fx_lsp" }) > 0 end)
    return vim.lsp.get_clients({ name = "fx_lsp" })[1]
  end
  config.name, config.root_dir = "fx-lsp", vim.fn.expand("%:p:h")
  vim.bo.filetype = "python"
  local id = vim.lsp.start_client(config)
  assert(id, "the server did not start")
  vim.lsp.buf_attach_client(0, id)
  return vim.lsp.get_client_by_id(id)
end

local function session()
  vim.cmd("edit " .. vim.fn.fnameescape(os.getenv("FX_FILE")))
  local client = start()
  local id = client.id

  wait("diagnostics", function() return #vim.diagnostic.get(0) > 0 end)
  seen.diagnostics = vim.tbl_map(function(found)
    local line = vim.fn.getline(found.lnum + 1)
    return { found.code, line:sub(found.col + 1, found.end_col) }
  end, vim.diagnostic.get(0))

  place("class Net")
  vim.fn.search("Net", "W")
  wait("Net to be traced, which may be after what has the problem", function()
    seen.hover = ask(client, "textDocument/hover", vim.lsp.util.make_position_params()).contents.value
    return not vim.startswith(seen.hover, "Tracing")
  end)

  seen.lenses = vim.tbl_map(function(lens) return lens.command.title end,
    ask(client, "textDocument/codeLens", { textDocument = vim.lsp.util.make_text_document_params() }))
  vim.lsp.codelens.refresh()
  wait("the lenses to be shown", function() return #vim.lsp.codelens.get(0) > 0 end)

  place("len(x)")
  local params = vim.lsp.util.make_range_params()
  params.context = { diagnostics = vim.lsp.diagnostic.get_line_diagnostics() }
  local actions = ask(client, "textDocument/codeAction", params)
  vim.lsp.util.apply_workspace_edit(actions[1].edit, client.offset_encoding)
  wait("the fix to help", function() return #vim.diagnostic.get(0) == 0 end)
  seen.fixed = table.concat(vim.fn.getline(1, "$"), "\n")

  vim.lsp.stop_client(id)
  wait("the end", function() return vim.lsp.get_client_by_id(id) == nil end)
end

local fine, problem = pcall(session)
seen.problem = not fine and tostring(problem) or nil
vim.fn.writefile({ vim.json.encode(seen) }, os.getenv("FX_SEEN"))
vim.cmd("qall!")
