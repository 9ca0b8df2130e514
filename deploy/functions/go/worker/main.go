// The program of a Go function, compiled together with its handler.
package main

import "function/sdk"

func main() { sdk.Serve(sdk.Of(Handler)) }
