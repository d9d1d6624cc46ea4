//go:build unix

package endtoend

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"toolpipe/testdata/load"
)

// hostFiles says what a user expects of each file of the collection: the status of
// --list servers, and checks of what it prints. Programs are doubles that answer;
// an address that is not of this machine cannot be reached.
var hostFiles = map[string]struct {
	status int
	checks string
}{
	"01-cursor-nginxui.json":          {0, ok("eslint", "npx @eslint/mcp@latest") + ok("context7", "npx -y @upstash/context7-mcp")},
	"02-vscode-trailing-comma.json":   {0, ok("terraform-mcp", "docker run -i --rm hashicorp/terraform-mcp-server --stdio")},
	"03-vscode-url-only.json":         {4, remote("codemotion-mcp-server", "http://localhost:3000/mcp")},
	"04-vscode-workspaceFolder.json":  {0, ok("simutrans-cross-search-mcp-serve", "npx ts-node '${workspaceFolder}/src/index.ts'") + args("ts-node WORK/src/index.ts")},
	"05-opencode-nomcp.json":          {2, noServers},
	"06-gemini-laravel.json":          {0, ok("laravel-boost", "php artisan boost:mcp") + ok("herd", "php /Applications/Herd.app/Contents/Resources/herd-mcp.phar")},
	"07-claude-desktop.json":          {0, ok("accelbyte-jssdk-mcp", "node /Users/tony.fu/research/accelbyte-jssdkmcp2/dist/adapter-http.js")},
	"08-microsoft-vscode.json":        {0, ok("vscode-playwright-mcp", "npm run start-stdio") + "grep '/test/mcp$' cwd\n"},
	"09-vscode-relative.json":         {0, ok("carpai-github", "python mcp-servers/github/src/server.py") + ok("carpai-postgres", "python mcp-servers/postgres/src/server.py")},
	"10-gemini-privacy.json":          {0, ok("sequential-thinking", "npx -y @modelcontextprotocol/server-sequential-thinking") + ok("context7", "npx -y @upstash/context7-mcp")},
	"11-opencode-stack.json":          {4, ok("better-t-stack", "bunx create-better-t-stack@latest mcp") + ok("context7", "npx -y @upstash/context7-mcp") + remote("cloudflare-docs", "https://docs.mcp.cloudflare.com/sse") + remote("nuxt", "https://nuxt.com/mcp")},
	"12-opencode-windows.json":        {4, remote("kappa", "https://algorand-docs.mcp.kapa.ai/") + ok("vibekit-mcp", `'C:\Users\devav\.vibekit\bin\vibekit.exe' mcp`)},
	"13-codex.toml":                   {2, "stderr '^toolpipe: error: --mcp-config: 13-codex\\.toml is TOML; only JSON is read$'\n"},
	"14-cursor-tools.json":            {2, noServers},
	"15-mcpjson-input.json":           {4, failed("jenkins", "http", "http://jenkins:8080/mcp-server/stateless", `:7: mcpServers\.jenkins\.headers\.Authorization: .*TOOLPIPE_INPUT_jenkins_basic_auth, which is not set`)},
	"16-claude-plugin-root.json":      {0, "stdout '^context-crafter\\tok\\tstdio\\t.*\\tuv run --project .\\$\\{CLAUDE_PLUGIN_ROOT\\}. '\n" + "grep '^run --project .*/work ' argv\n"},
	"17-mcpjson-platform.json":        {4, ok("shadcn", "npx -y shadcn@latest mcp") + ok("aspire", "aspire agent mcp") + remote("linear-server", "https://mcp.linear.app/mcp") + failed("azure-staging", "stdio", "npx -y @azure/mcp@latest server start --read-only --namespace monitor", `.*"AZURE_TENANT_ID" is not set.*`)},
	"18-cmd-c.json":                   {4, failed("e2b", "stdio", "cmd /c npx -y @e2b/mcp-server", `.*"E2B_API_KEY" is not set.*`)},
	"19-jetbrains-requestInit.json":   {4, remote("github", "https://api.githubcopilot.com/mcp/")},
	"20-vs-inputs.json":               {4, failed("github", "stdio", "docker run -i --rm -e GITHUB_PERSONAL_ACCESS_TOKEN ghcr.io/github/github-mcp-server", `.*TOOLPIPE_INPUT_github_pat, which is not set`)},
	"21-penpot-default.json":          {4, remote("penpot", "http://localhost:9001/mcp/stream?userToken=${PENPOT_MCP_TOKEN:-}")},
	"22-opencode-env.json":            {4, failed("penpot", "http", "http://localhost:9001/mcp/stream?userToken={env:PENPOT_MCP_TOKEN}", `.*"PENPOT_MCP_TOKEN" is not set.*`) + failed("github", "stdio", "npx -y @modelcontextprotocol/server-github", `.*"GITHUB_TOKEN" is not set.*`) + "! stdout playwright\n"},
	"23-cursor-env.json":              {4, failed("github", "stdio", "npx -y @modelcontextprotocol/server-github", `.*"GITHUB_TOKEN" is not set.*`)},
	"24-gemini-httpUrl-dollar.json":   {4, failed("eventkit-bridge", "http", "http://127.0.0.1:47615/mcp", `.*"EVENTKIT_BRIDGE_TOKEN" is not set.*`)},
	"25-windsurf-serverUrl.json":      {4, failed("brijio", "http", "http://127.0.0.1:8788/mcp", `.*"MCP_HTTP_AUTH_TOKEN" is not set.*`)},
	"26-zed-old.json":                 {0, ok("some-context-server", "npx -y @notionhq/notion-mcp-server")},
	"27-zed-new.json":                 {0, ok("pipecat-context-hub", "uvx pipecat-ai-context-hub serve")},
	"28-continue.yaml":                {2, "stderr '^toolpipe: error: --mcp-config: 28-continue\\.yaml is YAML; only JSON is read$'\n"},
	"29-roo.json":                     {0, ok("remote-microsoft-playwright", "npx @playwright/mcp@latest --cdp-endpoint http://127.0.0.1:9222") + "stderr -count=1 '^toolpipe: '\nstderr ':11: alwaysAllow is ignored'\n"},
	"30-cursor-transport-object.json": {4, remote("osysHome", "http://127.0.0.1:5000/api/mcp")},
	"31-claude-transport-sse.json":    {4, remote("ti-mindmap", "https://ti-mindmap-mcp.happyfield-b3b5145b.westeurope.azurecontainerapps.io/mcp/sse")},
	"32-vscode-settings-nested.json":  {4, failed("github", "stdio", "docker run -i --rm -e GITHUB_PERSONAL_ACCESS_TOKEN ghcr.io/github/github-mcp-server", `.*TOOLPIPE_INPUT_github_token, which is not set`)},
	"33-cline-bare.json":              {0, ok("translation-mcp", "uvx --from git+https://github.com/Trofimov-Y/crowdin-translation-mcp translation-mcp")},
	"34-goose.yaml":                   {2, "stderr '^toolpipe: error: --mcp-config: 34-goose\\.yaml is YAML; only JSON is read$'\n"},
	"35-gemini-gcloud.json":           {4, remote("googleCloudServer", "https://my-gcp-service.run.app/mcp")},
	"36-amp.json":                     {4, remote("postey", "https://srvr.postey.ai/mcp")},
	"37-cline-streamable.json":        {4, remote("postey", "https://srvr.postey.ai/mcp") + "stderr 'autoApprove is ignored'\n"},
	"38-aspire-roo.json":              {0, ok("aspire-mcp", "dotnet scripts/aspire-mcp-proxy.cs --no-build") + "stderr -count=1 '^toolpipe: '\nstderr 'alwaysAllow is ignored'\n"},
	"39-vscode-name-spaces.json":      {4, failed("APIM-petstore", "http", "http://127.0.0.1:9/mcp", `.*TOOLPIPE_INPUT_apim_key, which is not set`)},
	"40-claude-json.json":             {0, ok("ctx", "npx -y @upstash/context7-mcp") + "! stdout local\n"},
	"41-bom-crlf.json":                {0, ok("fs", `npx -y @modelcontextprotocol/server-filesystem 'C:\Users\me\Desktop'`)},
	"50-vscode-gallery-names.json":    {4, ok("playwright", "npx @playwright/mcp@latest") + ok("microsoft-playwright-mcp", "npx @playwright/mcp@latest") + remote("Microsoft-Learn---MCP", "https://learn.microsoft.com/api/mcp")},
	"51-context7-gallery.json":        {4, failed("io-github-upstash-context7", "stdio", "npx @upstash/context7-mcp@1.0.31", `.*TOOLPIPE_INPUT_CONTEXT7_API_KEY, which is not set`)},
	"52-framelink.json":               {0, ok("Framelink-Figma-MCP", "npx -y figma-developer-mcp --figma-api-key=YOUR-KEY --stdio")},
	"53-magicui.json":                 {0, ok("magicuidesign-mcp", "npx -y @magicuidesign/mcp@latest")},
	"54-kiro-disabledTools.json":      {4, remote("senzing-mcp-server", "http://127.0.0.1:9/mcp") + "stdout '^local\\tok\\tstdio\\t[^\\t]*\\t2\\t'\n"},
	"55-gemini-include-exclude.json":  {0, "stdout '^openlmlib\\tok\\tstdio\\t[^\\t]*\\t2\\tpython -m openlmlib\\.mcp_server\\t$'\n"},
	"56-33-bytes-name.json":           {0, ok("simutrans-cross-search-mcp-serve", "npx ts-node '${workspaceFolder}/src/index.ts'")},
	"57-command-var.json": {4, failed("a", "stdio", "'${CLAUDE_PLUGIN_ROOT:-/opt/plugin}/npx' x", `.*no such file or directory.*`) + ok("b", "'${HOME}/bin/npx'") + ok("c", "'~/x'") +
		failed("d", "stdio", "'npx -y foo'", ".*") + "stderr '\"command\" is only the program: \"command\": \"npx\", \"args\": \\[\"-y\", \"foo\"\\]'\n"},
	"58-figma-url-env.json":      {4, remote("figma", "http://localhost:3333/sse") + "stderr 'its env is not used'\n"},
	"59-copilot-cli.json":        {0, ok("pw", "npx @playwright/mcp@latest") + "stdout '^empty\\tok\\tstdio\\t[^\\t]*\\t0\\tnpx\\t$'\n"},
	"60-vscode-envfile-dev.json": {0, ok("x", "npx a") + ok("y", "npx '${userHome}/b' '${workspaceFolder:-/w}/c' '${/}' '$HOME/z' '~/q'") + args("USERHOME/b WORK/c / $HOME/z ~/q") + "stderr -count=1 '^toolpipe: '\nstderr 'unknown key \"dev\" is ignored'\n"},
	"61-empty.json":              {0, "! stdout .\n"},
	"62-continue-json.json":      {2, noServers},
	"63-array.json":              {2, noServers},
	"64-both.json":               {0, ok("a", "npx") + ok("b", "npx") + ok("c", "npx")},
	"65-dup-in-one.json":         {2, "stderr '^toolpipe: error: 65-dup-in-one\\.json:1:51: duplicate key \"a\" \\(byte 50\\), and before at 1:16$'\n"},
	"66-null-and-num.json":       {0, ok("a", "npx") + ok("b", "npx -p 3000") + args("-p 3000")},
	"67-claude-ws.json":          {4, failed("w", "http", "ws://127.0.0.1:9/mcp", `.*the transport "ws" is unknown.*`) + failed("ide", "http", "http://127.0.0.1:9/sse", `.*the transport "sse-ide" is unknown.*`)},
	"68-dxt-manifest.json":       {2, noServers},
	"69-oauth-block.json":        {4, ok("ok", "npx 1") + "stdout '^slack\\tfailed\\thttp\\t'\n"},
}

// noServers is for a file in a form without servers that are read.
const noServers = "stderr '^toolpipe: error: .*: has no servers in a known form: '\n"

// row is a check for a line of --list servers: its columns are patterns.
func row(columns ...string) string {
	return "stdout " + strconv.Quote("^"+strings.Join(columns, `\t`)+"$") + "\n"
}

func ok(name, command string) string {
	return row(name, "ok", "stdio", `[^\t]*`, "[1-9]", literal(command), "")
}

func remote(name, url string) string { return row(name, "failed", "http", "", "0", literal(url), `.+`) }

func failed(name, transport, target, why string) string {
	return row(name, "failed", transport, "", "0", literal(target), ".*"+why)
}

// args is a check for the arguments that a program got.
func args(line string) string {
	pattern := strings.NewReplacer("WORK", ".*/work", "USERHOME", ".*/home").Replace(literal(line))
	return "grep " + strconv.Quote("^"+pattern+"$") + " argv\n"
}

// literal is a pattern for text in a command of a script. A . stands for what the
// script would read itself.
func literal(text string) string {
	text = strings.ReplaceAll(text, `\`, "..") // it is shown escaped
	for _, c := range []string{"$", "'", "{", "}", "?", "(", ")", "+", "[", "]"} {
		text = strings.ReplaceAll(text, c, ".")
	}
	return text
}

// hostVariables are all that the files name.
const hostVariables = "AZURE_TENANT_ID AZURE_SUBSCRIPTION_ID_STAGING E2B_API_KEY PENPOT_MCP_TOKEN GITHUB_TOKEN EVENTKIT_BRIDGE_TOKEN MCP_HTTP_AUTH_TOKEN CLAUDE_PLUGIN_ROOT " +
	"COPILOT_MCP_X TOOLPIPE_INPUT_jenkins_basic_auth TOOLPIPE_INPUT_github_pat TOOLPIPE_INPUT_github_token TOOLPIPE_INPUT_apim_key TOOLPIPE_INPUT_CONTEXT7_API_KEY"

// TestHostFiles reads config files as they were found with other hosts: with no
// variable set but HOME, then with each set to a secret, which may not show. Every sixth
// file is read without TOOLPIPE_LOAD: script/mcp_config_hosts has the same forms.
func TestHostFiles(t *testing.T) {
	files, _ := filepath.Glob("../../../shared/configs/[0-9]*")
	if len(files) == 0 {
		t.Skip("the collection ../shared/configs is not there; script/mcp_config_hosts has the same forms")
	}
	for i, file := range files {
		name := filepath.Base(file)
		want, known := hostFiles[name]
		if !known {
			t.Errorf("nothing is said of %s", name)
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if i%6 != 0 {
				load.Variant(t)
			}
			s := newFault(t, "")
			s.begin(`
env HOME=$WORK/home HTTP_PROXY=http://127.0.0.1:9 HTTPS_PROXY=http://127.0.0.1:9
sh 'mkdir -p bin home/bin test/mcp; printf "#!/bin/sh\necho \"\$@\" >> $WORK/argv; pwd >> $WORK/cwd\nexec \"$MCP\" -tools echo,write -defs $WORK/greet.json\n" > home/x; cd bin; \
  tee ../home/bin/npx npx npm docker php node python uv uvx aspire cmd dotnet bunx "C:\\Users\\devav\\.vibekit\\bin\\vibekit.exe" < ../home/x > /dev/null; \
  chmod +x * ../home/x ../home/bin/npx; cd ..; echo "A=b" > .env; \
  echo "[{\"name\":\"greet\",\"inputSchema\":{\"type\":\"object\"}}]" > greet.json'
env PATH=$WORK/bin:$PATH`)
			if err := os.WriteFile(filepath.Join(s.work, name), text, 0o600); err != nil {
				t.Fatal(err)
			}
			s.do("toolpipe --mcp-config " + name + " --list servers => " + strconv.Itoa(want.status) + "\n" + want.checks +
				"env " + strings.ReplaceAll(hostVariables, " ", "=canary ") + "=canary\n" +
				"toolpipe -vv --mcp-config " + name + " --list servers => any\n")
		})
	}
	if len(files) != len(hostFiles) {
		t.Errorf("there are %d files, want %d", len(files), len(hostFiles))
	}
}
