package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// values are documents as encoding/json and the API machinery hold them. The first makes a float64 of every number; the
// second an int64 of those that are written as integers and fit.
func values() string {
	t := newTable("JSON, the kind in 'cannot unmarshal', then %T, %v and %#v with every number a float64, then the same with int64 where it fits")
	for _, text := range []string{
		`null`, `true`, `false`, `0`, `-1`, `1.5`, `1e6`, `1000000`, `123456789`, `9223372036854775807`, `9223372036854775808`,
		`-9223372036854775808`, `18446744073709551615`, `1e21`, `1e-7`, `0.00001`, `1.0`, `-0.0`,
		`""`, `"a"`, `"a b"`, `"\"\\\u200b\u00a0"`, `"é😀"`, `"<nil>"`,
		`[]`, `[null]`, `[1,"a",true,null,[],{}]`, `["a b","c"]`, `[[1,2],[3.5]]`,
		`{}`, `{"a":1}`, `{"b":[1,2.5],"a":{"d":null,"c":"x y"}}`, `{"":"","\"":"\u0007"}`, `{"a":{"b":{"c":[{"d":1000000}]}}}`,
	} {
		var floats any
		if err := json.Unmarshal([]byte(text), &floats); err != nil {
			panic(err)
		}
		decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
		decoder.UseNumber()
		var numbers any
		if err := decoder.Decode(&numbers); err != nil {
			panic(err)
		}
		mixed := asMachinery(numbers)
		t.row(text, kindOf(text),
			fmt.Sprintf("%T", floats), fmt.Sprintf("%v", floats), fmt.Sprintf("%#v", floats),
			fmt.Sprintf("%T", mixed), fmt.Sprintf("%v", mixed), fmt.Sprintf("%#v", mixed))
	}
	return t.String()
}

// asMachinery makes of every number what sigs.k8s.io/json makes of it.
func asMachinery(value any) any {
	switch value := value.(type) {
	case json.Number:
		if integer, err := value.Int64(); err == nil {
			return integer
		}
		float, err := value.Float64()
		if err != nil {
			panic(err)
		}
		return float
	case []any:
		for i := range value {
			value[i] = asMachinery(value[i])
		}
	case map[string]any:
		for key := range value {
			value[key] = asMachinery(value[key])
		}
	}
	return value
}

// kindOf is the word of encoding/json for what a document is, when it is refused.
func kindOf(text string) string {
	for _, target := range []any{new(func()), new(struct{}), new(int8), new(string)} {
		var mismatch *json.UnmarshalTypeError
		if err := json.Unmarshal([]byte(text), target); errors.As(err, &mismatch) {
			// A number that does not fit is shown with its digits.
			if len(mismatch.Value) > 7 && mismatch.Value[:7] == "number " {
				return "number"
			}
			return mismatch.Value
		}
	}
	return "-"
}
