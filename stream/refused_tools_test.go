package stream

import (
	"fmt"
	"testing"
)

// Refusals of public reports, and the tools that they name.
func TestRefusedTools(t *testing.T) {
	r := &Request{Model: "m"}
	for _, name := range []string{"a", "b", "c", "d"} {
		r.Tools = append(r.Tools, Tool{Name: "fs__" + name}, Tool{Name: "fs__" + name + "-x"})
	}
	for refusal, want := range map[string]string{
		"Invalid schema for function 'fs__b': In context=('properties', 'role'), array schema missing items.":                                     "[fs__b]",
		"Invalid schema for function 'fs__b-x': array schema missing items.":                                                                      "[fs__b-x]",
		"Unable to submit request because `fs__C` functionDeclaration `parameters.x` schema specified other fields":                               "[fs__c]",
		"invalid JSON schema for tool fs__d, tools[0].function.parameters: 'required' present but 'properties' is missing":                        "[fs__d]",
		"tools.2.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12":                                            "[fs__b]",
		"tools.7.custom.input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'":                                     "[fs__d-x]",
		"tools.8.custom.name: String should match pattern":                                                                                        "[]",
		"Invalid 'tools[3].function.name': string does not match pattern.":                                                                        "[fs__b-x]",
		"The value at toolConfig.tools.1.toolSpec.inputSchema.json.type must be one of the following: object.":                                    "[fs__a-x]",
		"Value at 'toolConfig.tools.1.member.toolSpec.description' failed to satisfy constraint":                                                  "[fs__a]",
		"Malformed input request: #/toolConfig/tools/1/toolSpec/inputSchema/json: extraneous key [$defs] is not permitted":                        "[fs__a-x]",
		"Invalid value at 'tools.function_declarations[3].parameters.properties[1].value.enum[0]' (TYPE_STRING), true":                            "[fs__b-x]",
		"Unknown name \"const\" at 'tools[0].function_declarations[0].parameters'\nUnknown name \"const\" at 'tools[0].function_declarations[2]'": "[fs__a fs__b]",
		"Unknown name \"const\" at 'tools[2].function_declarations[0].parameters': Cannot find field.":                                            "[fs__b]",
		"Tool 3 function has invalid 'parameters' schema: None is not of type 'array'":                                                            "[fs__b-x]",
		`{"detail":[{"loc":["body","tools",1,"function","parameters"],"msg":"Input should be a valid dictionary","input":"fs__d"}]}`:              "[fs__a-x]",
		"tools.function.parameters is not a valid moonshot flavored json schema, details: <At path 'root': type is not defined>":                  "[]",
		"tool_choice: the tool fs__b is not in tools[1]":                                                                                          "[]",
		"messages.3.content.0.tool_use.name: fs__b is not valid":                                                                                  "[]",
		"server_tools[1] is not accepted":                         "[]",
		"tools.0.function.strict: Extra inputs are not permitted": "[]",
		"only 2 tools are accepted":                               "[]",
		"tools: 1.5":                                              "[]",
	} {
		body := []byte(refusal)
		var got []string
		f := readRefusal(400, body)
		for _, tool := range f.refusedTools(r) {
			got = append(got, tool.Name)
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%s:\n%v", refusal, got)
		}
		if kind := f.kind(r); got != nil && kind != ToolRefused {
			t.Errorf("%s: %s", refusal, kind)
		}
	}
}
