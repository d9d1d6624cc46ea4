package review

import (
	"slices"
	"strings"
	"unicode"

	"toolpipe/stream/text/escape"
)

// A rule finds words that follow each other with few words between them.
type rule struct {
	what     string
	argument bool     // it looks only at the names and descriptions of arguments
	gap      int      // how many words may stand between two steps
	steps    []string // each lists the words that it can be
}

const (
	speaks = "instruction to the model"
	secret = "asks for a secret"
	talk   = "asks for the conversation"

	persons = "user users human person anyone anybody"
	passes  = "include provide pass send put copy paste append attach forward supply"
	secrets = "password passwords passwd passphrase credential credentials mnemonic apikey"
	calls   = "using calling invoking running use call run invoke"
)

var rules = [...]rule{
	{speaks, false, 3, []string{"ignore disregard forget", "previous prior above earlier preceding instructions instruction guidelines"}},
	{speaks, false, 3, []string{"override bypass", "instructions instruction prompt guardrails safety approval approvals confirmation"}},
	{speaks, false, 2, []string{"not never dont without avoid", "tell telling mention mentioning inform informing notify notifying reveal revealing disclose disclosing alert alerting ask asking", persons + " them him this that it"}},
	{speaks, false, 3, []string{"hide conceal keep", "this that it", "from secret hidden", persons}},
	{speaks, false, 2, []string{"silently secretly covertly", passes + " upload " + calls}},
	{speaks, false, 1, []string{"before", calls, "this any other another", "tool tools function functions"}},
	{speaks, false, 4, []string{"when whenever if after", "tool tools", "is are gets was", "called used invoked available present", "you must always"}},
	{speaks, false, 2, []string{"always must", calls + " prefer choose select", "this", "tool function", "first instead over"}},
	{speaks, false, 0, []string{"you", "are", "now"}},
	{speaks, false, 0, []string{"new updated real actual", "instructions"}},
	{speaks, false, 2, []string{persons, "already has have", "approved consented confirmed agreed"}},
	{secret, false, 3, []string{passes + " read reading", secrets + " secret secrets cookies"}},
	{secret, false, 0, []string{"id", "rsa ed25519 ecdsa"}},
	{secret, true, 0, []string{secrets}},
	{secret, true, 0, []string{"private ssh secret api encryption signing", "key keys"}},
	{secret, true, 0, []string{"access auth bearer session refresh api", "token tokens cookie cookies"}},
	{secret, true, 0, []string{"seed recovery", "phrase words"}},
	{talk, true, 2, []string{"whole entire full complete all previous prior current", "conversation conversations chat chats dialog dialogue transcript"}},
	{talk, true, 0, []string{"conversation chat message dialog", "history log transcript"}},
	{talk, true, 0, []string{"chain", "of", "thought thoughts"}},
	{talk, true, 0, []string{"system", "prompt"}},
	{talk, false, 2, []string{passes, "conversation dialogue transcript"}},
	{talk, false, 0, []string{"your full original", "system", "prompt message instructions"}},
}

// A word is lower-case and without characters that cannot be seen; a letter that looks
// like one of ASCII is that one.
type word struct {
	text     string
	from, to int  // its place in the text
	begins   bool // it is the first word of a sentence
}

// wordsOf splits a text at every character that is neither a letter nor a digit,
// and inside names that are written likeThis.
func wordsOf(text string) []word {
	var all []word
	var w []rune
	from, before, begins := 0, ' ', true
	end := func(at int) {
		if len(w) > 0 {
			all = append(all, word{string(w), from, at, begins})
			w, begins = w[:0], false
		}
	}
	for i, c := range text {
		if f := folded(c); f < 0x80 {
			c = f
		}
		switch {
		case c == '\'' || c == '’' || c > 0x80 && escape.Unsafe(c) && !unicode.IsSpace(c):
			continue
		case !unicode.IsLetter(c) && !unicode.IsDigit(c):
			end(i)
			begins = begins || unicode.IsSpace(c) && strings.ContainsRune(".!?", before) || c == '\n' && before == '\n'
			before = c
			continue
		case unicode.IsUpper(c) && unicode.IsLower(before):
			end(i)
		}
		if len(w) == 0 {
			from = i
		}
		w, before = append(w, unicode.ToLower(c)), c
	}
	end(len(text))
	return all
}

// words applies the rules. A sentence that says not to hand something over asks for
// nothing.
func (r *reader) words(member, text string, argument bool) {
	words := wordsOf(text)
	denied := false
	for i, w := range words {
		denied = denied && !w.begins || isOne(w.text, "not never dont no without")
		for _, rule := range rules {
			if !isOne(w.text, rule.steps[0]) || rule.argument && !argument || rule.what != speaks && denied {
				continue
			}
			if last := rule.last(words, i); last >= 0 {
				r.find(rule.what, member, text, w.from, words[last].to)
			}
		}
	}
}

// last is the index of the word for the rule's last step, where words[first] is that
// for its first step; -1 if the rule does not fit. All stand in one sentence.
func (r rule) last(words []word, first int) int {
	for _, step := range r.steps[1:] {
		near := words[first+1 : min(first+2+r.gap, len(words))]
		n := slices.IndexFunc(near, func(w word) bool { return w.begins || isOne(w.text, step) })
		if n < 0 || near[n].begins {
			return -1
		}
		first += 1 + n
	}
	return first
}

// isOne tells whether w is one of the words.
func isOne(w, words string) bool { return strings.Contains(" "+words+" ", " "+w+" ") }
