package main

import sdk "github.com/keti-openfx/openfx/executor/go/pb"

// Handler is called once for each call of the function, with the caller's bytes in req.Input. The
// process lives on between calls: what is expensive to make can stay in a variable outside.
func Handler(req sdk.Request) string {
	return string(req.Input)
}
