package mcp

import (
	"maps"

	"toolpipe/mcp/wire"
)

// Servers that do not answer with the ids they were given.
func init() {
	maps.Copy(doubles, map[string]func(d *double){
		"string-ids": func(d *double) {
			d.serve(on("tools/call", func(d *double, m wire.Message) {
				d.write(`{"jsonrpc":"2.0","id":"%s","result":{"content":[{"type":"text","text":"ok"}]}}`, m.ID)
			}))
		},
		"null-ids": func(d *double) {
			d.serve(on("tools/call", func(d *double, m wire.Message) {
				d.write(`{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"lost the id"}}`)
			}))
		},
		"zero-ids": func(d *double) {
			d.serve(func(d *double, m wire.Message) bool {
				if m.ID != nil {
					m.ID = []byte("0")
				}
				d.answer(m)
				return true
			})
		},
		"foreign-ids": func(d *double) {
			d.serve(func(d *double, m wire.Message) bool {
				m.ID = []byte("77")
				d.answer(m)
				return true
			})
		},
		"id-games": func(d *double) {
			d.serve(on("tools/call", func(d *double, m wire.Message) {
				for _, id := range []string{"1", "99", `"99"`} {
					d.write(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"wrong"}]}}`, id)
				}
				d.result(m, `{"content":[{"type":"text","text":"right"}]}`)
				d.result(m, `{"content":[{"type":"text","text":"again"}]}`)
			}))
		},
	})
}
