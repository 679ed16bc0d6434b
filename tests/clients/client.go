// Go's standard library against a running daemon: the documents' examples, safetensors, gzip. Prints TAP.
//
//	tests/clients/examples.py | client HOST:PORT
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
)

const (
	safetensors = "application/x-safetensors"
	rest        = "…"
)

var count, failed int

func check(name string, passed bool, difference ...any) {
	count++
	word := "ok"
	if !passed {
		word = "not ok"
		failed++
	}
	fmt.Println(word, count, "-", name)
	if !passed {
		fmt.Println(append([]any{"#"}, difference...)...)
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		fmt.Println("Bail out!", err)
		os.Exit(1)
	}
	return value
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-6*math.Max(1, math.Abs(a)) }

// fits says whether got is what want says; the text "…" stands for the rest of an array or an object.
func fits(want, got any) bool {
	switch want := want.(type) {
	case float64:
		number, ok := got.(float64)
		return ok && near(want, number)
	case []any:
		list, ok := got.([]any)
		open := len(want) > 0 && want[len(want)-1] == any(rest)
		if open {
			want = want[:len(want)-1]
		}
		if !ok || len(list) < len(want) || (!open && len(list) > len(want)) {
			return false
		}
		for i := range want {
			if !fits(want[i], list[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		object, ok := got.(map[string]any)
		_, open := want[rest]
		if !ok || (!open && len(object) != len(want)) {
			return false
		}
		for name := range want {
			if value, found := object[name]; name != rest && (!found || !fits(want[name], value)) {
				return false
			}
		}
		return true
	default:
		return want == got
	}
}

func post(url string, body []byte, headers map[string]string) (*http.Response, []byte) {
	request := must(http.NewRequest("POST", url, bytes.NewReader(body)))
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	reply := must(http.DefaultClient.Do(request))
	defer reply.Body.Close()
	return reply, must(io.ReadAll(reply.Body))
}

type entry struct {
	Dtype   string `json:"dtype"`
	Shape   []int  `json:"shape"`
	Offsets [2]int `json:"data_offsets"`
}

// save puts float32 tensors into the bytes of a file.
func save(names []string, shapes [][]int, data [][]float32, request string) []byte {
	header := map[string]any{"__metadata__": map[string]string{"request": request}}
	var numbers bytes.Buffer
	for i, name := range names {
		begin := numbers.Len()
		must(0, binary.Write(&numbers, binary.LittleEndian, data[i]))
		header[name] = entry{"F32", shapes[i], [2]int{begin, numbers.Len()}}
	}
	text := must(json.Marshal(header))
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(text)))
	return append(append(file, text...), numbers.Bytes()...)
}

func load(file []byte, name string) []float32 {
	length := binary.LittleEndian.Uint64(file)
	var header map[string]entry
	// The texts in __metadata__ are no tensor: what does not fit into an entry stays empty.
	must(0, json.Unmarshal(file[8:8+length], &header))
	tensor := header[name]
	numbers := make([]float32, (tensor.Offsets[1]-tensor.Offsets[0])/4)
	must(0, binary.Read(bytes.NewReader(file[8+length+uint64(tensor.Offsets[0]):]), binary.LittleEndian, numbers))
	return numbers
}

func testExamples(url string) {
	var examples []struct {
		Name, Path string
		Request    json.RawMessage
		Reply      any
	}
	must(0, json.NewDecoder(os.Stdin).Decode(&examples))
	for _, example := range examples {
		_, body := post(url+example.Path, example.Request, map[string]string{"Content-Type": "application/json"})
		var got any
		must(0, json.Unmarshal(body, &got))
		check(example.Name, fits(example.Reply, got), string(body))
	}
}

func testSafetensors(url string) {
	file := save([]string{"query", "key", "value"}, [][]int{{2, 2}, {2, 2}, {2, 1}},
		[][]float32{{1, 0, 0, 1}, {1, 0, 0, 1}, {10, 20}}, `{"causal": true}`)
	headers := map[string]string{"Content-Type": safetensors, "Accept": safetensors}
	reply, body := post(url+"/attention", file, headers)
	check("safetensors: type", reply.StatusCode == 200 && reply.Header.Get("Content-Type") == safetensors, string(body))
	output := load(body, "output")
	check("safetensors: output", len(output) == 2 && output[0] == 10 && near(float64(output[1]), 16.697615), output)

	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	must(writer.Write(file))
	must(0, writer.Close())
	headers["Content-Encoding"] = "gzip"
	_, again := post(url+"/attention", packed.Bytes(), headers)
	check("safetensors in gzip", bytes.Equal(again, body))
}

func testLarge(url string) {
	reply, body := post(url+"/attention", []byte(`{"seed": 1, "x": {"shape": [400, 4]}, "projection": "identity"}`), nil)
	var result struct{ Weights, Output [][]float64 }
	must(0, json.Unmarshal(body, &result))
	check("a large reply, inflated on the way", reply.Uncompressed && len(result.Weights) == 400 && len(result.Output[9]) == 4)
	reply, _ = post(url+"/attention", []byte(`{"querry": 1}`), nil)
	check("an error", reply.StatusCode == 422 && reply.Header.Get("Content-Type") == "application/problem+json")
}

func main() {
	url := "http://" + os.Args[1]
	testExamples(url)
	testSafetensors(url)
	testLarge(url)
	fmt.Printf("1..%d\n", count)
	if failed > 0 {
		os.Exit(1)
	}
}
