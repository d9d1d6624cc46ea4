//go:build linux

package endtoend

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestPastedLogin: where the browser cannot reach this machine, the person pastes
// the address of its last page on the terminal. What is pasted is not shown, and
// a wrong address is asked for again.
func TestPastedLogin(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]string{
		"listener":    `{}`,
		"no listener": `{"mcpServers":{"web":{"url":"URL","oauth":{"client_id":"me","redirect_uri":"https://tools.example/callback"}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newFault(t, "-- config.json --\n"+config+"\n")
			s.begin(`env BROWSER="fakebrowser -stay $WORK/browser.log"
secret browser.log
mcp web -modern -oauth
sh 'sed -i s,URL,$WEB_URL, config.json'
tty toolpipe --config config.json --login $WEB_URL &
await screen 'paste its address here .*: '
await file browser.log 'led to'
send 'https://tools.example/other?code=1\n'
await screen 'this is not the address of the last page(.|\n)*paste its address here .*: '
send 'typed\x7f\x15'`)
			log, err := os.ReadFile(filepath.Join(s.work, "browser.log"))
			if err != nil {
				t.Fatal(err)
			}
			address := regexp.MustCompile(`led to (\S+)`).FindSubmatch(log)
			if _, err := s.running.master.Write(append(address[1], '\n')); err != nil {
				t.Fatal(err)
			}
			s.do(`wait => 0
stdout '\tvalid\t'
! screen 'code='
! screen typed
toolpipe --config config.json -t web=$WEB_URL --list-tools
stdout web__echo`)
		})
	}
}
