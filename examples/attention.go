// Attention from Go, with the standard library: go run attention.go http://localhost:8080
package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
)

type tensor struct {
	shape []int
	data  []float32
}

type entry struct {
	Dtype   string `json:"dtype"`
	Shape   []int  `json:"shape"`
	Offsets [2]int `json:"data_offsets"`
}

// pack makes a safetensors file: the header's length in eight bytes, the header as JSON, the numbers.
func pack(tensors map[string]tensor, fields string) ([]byte, error) {
	header := map[string]any{"__metadata__": map[string]string{"request": fields}}
	var numbers bytes.Buffer
	for name, t := range tensors {
		begin := numbers.Len()
		if err := binary.Write(&numbers, binary.LittleEndian, t.data); err != nil {
			return nil, err
		}
		header[name] = entry{"F32", t.shape, [2]int{begin, numbers.Len()}}
	}
	text, err := json.Marshal(header)
	text = append(text, bytes.Repeat([]byte(" "), -len(text)&7)...)
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(text)))
	return append(append(file, text...), numbers.Bytes()...), err
}

func unpack(file []byte) (map[string]tensor, error) {
	start := 8 + binary.LittleEndian.Uint64(file)
	var header map[string]json.RawMessage
	if err := json.Unmarshal(file[8:start], &header); err != nil {
		return nil, err
	}
	delete(header, "__metadata__")
	tensors := map[string]tensor{}
	for name, text := range header {
		var e entry
		if err := json.Unmarshal(text, &e); err != nil {
			return nil, err
		}
		data := make([]float32, (e.Offsets[1]-e.Offsets[0])/4)
		numbers := bytes.NewReader(file[start+uint64(e.Offsets[0]):])
		if err := binary.Read(numbers, binary.LittleEndian, data); err != nil {
			return nil, err
		}
		tensors[name] = tensor{e.Shape, data}
	}
	return tensors, nil
}

func attention(url string, tensors map[string]tensor, fields string) (map[string]tensor, error) {
	file, err := pack(tensors, fields)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequest("POST", url+"/attention", bytes.NewReader(file))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/x-safetensors")
	request.Header.Set("Accept", "application/x-safetensors")
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer reply.Body.Close()
	body, err := io.ReadAll(reply.Body)
	if err != nil {
		return nil, err
	}
	if reply.StatusCode != 200 {
		return nil, fmt.Errorf("%s", body)
	}
	return unpack(body)
}

func main() {
	result, err := attention(os.Args[1], map[string]tensor{
		"query": {[]int{2, 2}, []float32{1, 0, 0, 1}},
		"key":   {[]int{2, 2}, []float32{1, 0, 0, 1}},
		"value": {[]int{2, 1}, []float32{10, 20}},
	}, `{"causal": true}`)
	if err != nil {
		log.Fatal(err)
	}
	output := result["output"].data
	fmt.Printf("%.4f %.4f\n", output[0], output[1])
}
