package event

import "encoding/json"

type Usage struct {
	Input      int `event:"input_tokens"`
	Output     int `event:"output_tokens"`
	Reasoning  int `event:"reasoning_tokens"`
	Cached     int `event:"cached_tokens"`
	CacheWrite int `event:"cache_write_tokens"`
}

// Total counts each token once.
func (u Usage) Total() int { return u.Input + u.Output }

func (u Usage) Plus(v Usage) Usage {
	return Usage{u.Input + v.Input, u.Output + v.Output, u.Reasoning + v.Reasoning, u.Cached + v.Cached, u.CacheWrite + v.CacheWrite}
}

// Cost is the price of tokens, as far as the profiles of their models have prices.
type Cost struct {
	Cost     json.RawMessage `event:"cost,opt,plain"` // a number
	Currency string          `event:"currency,opt"`
	Partial  bool            `event:"cost_partial,opt"` // excludes tokens without a price, or priced in another currency
}

type Counts struct {
	Turns      int   `event:"turns"`
	Earlier    bool  // the text of End is not from the last turn
	ToolCalls  int   `event:"tool_calls"`
	InnerCalls int   `event:"inner_calls,opt"` // calls of programs in commands
	Denied     int   `event:"denied"`
	Staged     int   `event:"staged,opt"` // calls that --stage wrote to the plan
	Usage      Usage `event:"usage"`      // including nested runs
	Cost

	Protected []string `event:"protected,opt"` // files that sandboxed programs changed and that other programs run
}
