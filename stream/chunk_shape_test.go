package stream

import (
	"fmt"
	"strings"
	"testing"
)

// Events of one shape mean the same whether they are decoded, matched or followed
// in the buffer, wherever reads end; and only where nobody sees it are the texts of
// several given on as one.
func TestFollow(t *testing.T) {
	long := strings.Repeat("word ", longDelta/4)
	texts := []string{"a", "b", "c", long, "d", "", "é世", "line\n", "e", "\"q\"", "f", "\U0001F600", "g", long + long + long, "h", "i", "j"}
	for _, api := range []string{"chat", "messages"} {
		whole := string(deltas(api, "x", 2))
		each := string(deltas(api, "mark", 1))
		first, last, _ := strings.Cut(each, "mark")
		head, event := first[:strings.LastIndex(first, "\n\n")+2], ""
		if api == "chat" {
			head = ""
		}
		first = first[len(head):]
		tail, end, _ := strings.Cut(last, "\n\n")
		tail += "\n\n"
		body := head
		for i, text := range texts {
			quoted := fmt.Sprintf("%q", text)
			event = first + quoted[1:len(quoted)-1] + tail
			switch i {
			case 9:
				event = ": a comment\n\n" + event
			case 11:
				event = strings.ReplaceAll(event, "\n", "\r\n")
			case 13:
				event = strings.Replace(event, "data: ", "data:", 1)
			}
			body += event + event
		}
		body += end
		slow := decode(t, bodyIn{api: api, data: []byte(body), slow: true})
		if slow.err != nil || len(slow.text) != 2*len(strings.Join(texts, "")) || !strings.HasSuffix(whole, end) {
			t.Fatalf("%s: %v, %d bytes of text", api, slow.err, len(slow.text))
		}
		for _, reads := range [][]int{nil, {1}, {7}, {100}, {4096}} {
			for _, join := range []bool{false, true} {
				got := decode(t, bodyIn{api: api, data: []byte(body), reads: reads, join: join})
				if got.text != slow.text || got.err != nil || got.reply.Finish != slow.reply.Finish {
					t.Errorf("%s in reads of %v: %v, %d bytes of text, want %d", api, reads, got.err, len(got.text), len(slow.text))
				}
				if (got.deltas < slow.deltas) != (join && len(reads) == 0 || join && reads[0] > 100) {
					t.Errorf("%s in reads of %v, joined %v: %d deltas, of %d", api, reads, join, got.deltas, slow.deltas)
				}
			}
		}
	}
}

// A line that never ends is not searched from its beginning with each read.
func TestFollowLongLine(t *testing.T) {
	whole := string(deltas("chat", "x", 3))
	i := strings.LastIndex(whole, `"x"`)
	body := whole[:i+1] + strings.Repeat("x", 32<<20) + whole[i+2:]
	got := decode(t, bodyIn{api: "chat", data: []byte(body), reads: []int{4096}})
	if got.err != nil || len(got.text) != 2+32<<20 {
		t.Errorf("%v, %d bytes of text", got.err, len(got.text))
	}
}
