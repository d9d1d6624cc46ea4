package invocation

import (
	"cmp"
	"strconv"

	"toolpipe/run/document"
	"toolpipe/stream"
)

// A Price is the price of a million tokens of each kind, in a currency.
type Price struct {
	Currency                          string // "": no price
	input, output, cached, cacheWrite float64
}

// Of is the price of tokens. Cached and cache-write tokens are part of the input and have separate
// prices.
func (p Price) Of(u stream.Usage) float64 {
	fresh := max(0, u.Input-u.Cached-u.CacheWrite)
	return (float64(fresh)*p.input + float64(u.Cached)*p.cached + float64(u.CacheWrite)*p.cacheWrite + float64(u.Output)*p.output) / 1e6
}

func (p *profile) readPrice(m document.Member) error {
	given := map[string]float64{}
	number := func(m document.Member) error {
		n, err := strconv.ParseFloat(string(m.Raw()), 64)
		if err != nil || n < 0 {
			return m.Errorf("%s of price is a number from 0 on, for a million tokens", m.Key)
		}
		given[m.Key] = n
		return nil
	}
	var currency string
	if err := m.ReadKeys(document.Keys("input output cached cache_write", number, "currency", &currency)); err != nil {
		return err
	}
	_, hasInput := given["input"]
	_, hasOutput := given["output"]
	if !hasInput || !hasOutput {
		return m.Errorf("price needs input and output, such as {\"input\": 3, \"output\": 15}")
	}
	p.price = Price{Currency: cmp.Or(currency, "USD"), input: given["input"], output: given["output"], cached: given["input"], cacheWrite: given["input"]}
	if n, ok := given["cached"]; ok {
		p.price.cached = n
	}
	if n, ok := given["cache_write"]; ok {
		p.price.cacheWrite = n
	}
	return nil
}
