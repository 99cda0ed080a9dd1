-- The snippet of docs/editors.md in the real editor: findings, the page of the rule, and a fix, for the file in its argument.
-- nvim --headless -u SNIPPET FILE -S try.lua   ends with status 0 if all of it came.

local function failed(what)
  io.stderr:write("zerograd in Neovim: " .. what .. "\n")
  vim.cmd("cquit 1")
end

local function wait_for(what, found)
  if not vim.wait(60000, found, 50) then failed("no " .. what) end
end

wait_for("finding", function() return #vim.diagnostic.get(0) > 0 end)
local finding = vim.diagnostic.get(0)[1]
local code = finding.code or (finding.user_data and finding.user_data.lsp and finding.user_data.lsp.code)
io.stdout:write(string.format("line %d: %s %s\n", finding.lnum + 1, code or "", finding.message:gsub("\n.*", "")))

vim.api.nvim_win_set_cursor(0, { finding.lnum + 1, finding.col })
local asked = vim.lsp.util.make_position_params()
local answers = vim.lsp.buf_request_sync(0, "textDocument/hover", asked, 60000) or {}
local page
for _, answer in pairs(answers) do page = answer.result and answer.result.contents.value or page end
if not page then failed("no page of the rule") end
io.stdout:write("hover: " .. page:gsub("\n.*", "") .. "\n")

local range = vim.lsp.util.make_range_params()
range.context = { diagnostics = { finding.user_data.lsp }, only = { "quickfix" } }
range.context.diagnostics[1].range = {
  start = { line = finding.lnum, character = finding.col },
  ["end"] = { line = finding.end_lnum, character = finding.end_col },
}
range.context.diagnostics[1].message = finding.message
range.range = range.context.diagnostics[1].range
local fixes = vim.lsp.buf_request_sync(0, "textDocument/codeAction", range, 60000) or {}
local title
for _, answer in pairs(fixes) do
  for _, action in ipairs(answer.result or {}) do title = title or action.title end
end
if not title then failed("no fix") end
io.stdout:write("fix: " .. title .. "\n")
vim.cmd("qall!")
