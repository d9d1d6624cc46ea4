package stream
import "testing"
var zz = [][]byte{
[]byte(`{"type":"object","properties":{"owner":{"type":"string","description":"Repository owner"},"repo":{"type":"string","description":"Repository name"},"state":{"type":"string","enum":["open","closed","all"],"description":"State"},"labels":{"type":"array","items":{"type":"string"},"description":"Labels"},"page":{"type":"number","description":"Page number for pagination (min 1)","minimum":1},"perPage":{"type":"number","description":"Results per page for pagination (min 1, max 100)","minimum":1,"maximum":100},"since":{"type":"string","description":"Filter by date (ISO 8601 timestamp)"},"sort":{"type":"string","enum":["created","updated","comments"],"description":"Sort order"}},"required":["owner","repo"]}`),
}
func BenchmarkZZ(b *testing.B) {
	b.SetBytes(int64(len(zz[0])))
	b.ReportAllocs()
	for i := 0; i < b.N; i++ { toolSchema(zz[0], false) }
}
