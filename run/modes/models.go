package modes

import (
	"context"

	"toolpipe/run/event"
)

func (m *mode) listModels(ctx context.Context) error {
	if err := m.box.EmitStart(); err != nil {
		return err
	}
	names, err := m.inv.Model.Client.Models(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		m.inv.Emit(&event.Item{Kind: "model", Name: name})
	}
	if len(names) == 0 {
		m.inv.Face.Say("the endpoint lists no models")
	}
	return nil
}
