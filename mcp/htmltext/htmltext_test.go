package htmltext

import (
	"net/url"
	"strings"
	"testing"
)

func TestReadableText(t *testing.T) {
	base, _ := url.Parse("https://h.example/dir/")
	for page, want := range map[string]string{
		"":             "\n",
		"just text":    "just text\n",
		"a  \n b<br>c": "a b\nc\n",
		"<ul><li>one<li>two<ul><li>in</ul></ul>x": "- one\n- two\n  - in\nx\n",
		"<ul><li><p>one</p></li></ul>":            "- one\n",
		"<pre>  a\n   b</pre>":                    "  a\n   b\n",
		"<p>1 < 2 &lt; 3 & 4</p>":                 "1 < 2 < 3 & 4\n",
		`<a href="p.html">x</a>`:                  "x <https://h.example/dir/p.html>\n",
		`<a href="javascript:x()">x</a>`:          "x\n",
		`<a title="a > b" href=/q>x</a>`:          "x <https://h.example/q>\n",
		"<style>p{}</STYLE>seen":                  "seen\n",
		"<script>if (a</b) '</p>'":                "\n",
		"<!-- <p>no</p> -->yes":                   "yes\n",
		"<!-- open":                               "\n",
		"<h2>H</h2>t":                             "## H\n\nt\n",
		"<tr><td>a</td><td>b</td></tr>":           "a b\n",
		`<img alt="a cat" src=x>`:                 "[image: a cat]\n",
		"<":                                       "<\n",
		"</":                                      "\n",
		"<p":                                      "\n",
	} {
		if got := string(Text([]byte(page), base)); got != want {
			t.Errorf("%q: %q, want %q", page, got, want)
		}
	}
}

func TestIsPage(t *testing.T) {
	for _, tt := range []struct {
		body, contentType string
		want              bool
	}{
		{"<!doctype html>\n<title>x</title>", "", true},
		{" \n<HTML>", "text/plain", true},
		{"\uFEFF<!DOCTYPE html>", "", true},
		{"<?xml version='1.0'?><!DOCTYPE html><html/>", "application/xhtml+xml; charset=utf-8", true},
		{"<custom-app></custom-app>", "Text/HTML;charset=utf-8", true},
		{"<?xml version='1.0'?><Error/>", "application/xml", false},
		{"no such page", "text/html", false},
		{`{"error":"<html>"}`, "text/html", false},
		{"", "text/html", false},
	} {
		if got := IsPage([]byte(tt.body), tt.contentType); got != tt.want {
			t.Errorf("%q, %q: %t", tt.body, tt.contentType, got)
		}
	}
}

func FuzzReadableText(f *testing.F) {
	for _, seed := range []string{"<p>a</p>", "<a href='x'>", "<script>", "<li><li>", "<pre>&amp;", "<!--", "<a b=\"", "&#x0;<td>"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, page string) {
		out := Text([]byte(page), nil)
		if len(out) > 64*len(page)+64 {
			t.Errorf("%d bytes from %d", len(out), len(page))
		}
		if !strings.ContainsAny(page, "<&") && strings.Join(strings.Fields(strings.ReplaceAll(page, "\u00a0", " ")), "") != strings.Join(strings.Fields(string(out)), "") {
			t.Errorf("plain text changed: %q from %q", out, page)
		}
	})
}
