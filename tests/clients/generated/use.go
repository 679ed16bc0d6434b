// What oapi-codegen made, computing: the address is the argument.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
)

func tensor(text string) *Tensor {
	var t Tensor
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		panic(err)
	}
	return &t
}

func main() {
	client, err := NewClientWithResponses("http://" + os.Args[1])
	if err != nil {
		panic(err)
	}
	reply, err := client.AttentionWithResponse(context.Background(), AttentionRequest{
		Query: tensor("[[1, 0], [0, 1]]"), Key: tensor("[[1, 0], [0, 1]]"), Value: tensor("[[10], [20]]")})
	if err != nil {
		panic(err)
	}
	if reply.JSON200 == nil {
		panic(string(reply.Body))
	}
	output, _ := reply.JSON200.Output.AsNumbers()
	fmt.Println(output)
}
