package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"

	"function/mesh"
	"function/sdk"
)

func Handler(req sdk.Request, w io.Writer) error {
	words := bytes.Fields(req.Input[:min(len(req.Input), 100)])
	word := ""
	if len(words) > 0 {
		word = string(words[0])
	}
	switch word {
	case "throw":
		return errors.New("no such thing")
	case "exit":
		os.Exit(3)
	case "crash":
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "hang":
		select {}
	case "flood":
		for {
			if _, err := w.Write(bytes.Repeat([]byte("x"), 65536)); err != nil {
				return err
			}
		}
	case "head":
		req.SetStatus(418)
		req.SetHeader("X-Pot", "tea")
		_, err := fmt.Fprintf(w, "%s %s %s %s %s", req.Method, req.Path, req.Query,
			req.Headers["traceparent"], req.CallID)
		return err
	case "cookies":
		req.SetHeader("Set-Cookie", "a=1; Path=/")
		req.AddHeader("Set-Cookie", "b=2; Path=/")
		req.SetHeader("X-Number", "7")
		_, err := io.WriteString(w, "set")
		return err
	case "bad-status":
		req.SetStatus(999)
	case "bad-name":
		req.SetHeader("Bad Header", "x")
	case "bad-value":
		req.SetHeader("X-A", "x\r\nSet-Cookie: stolen=1")
	case "big-head":
		req.SetHeader("X-A", strings.Repeat("x", 2<<20))
	case "mesh":
		_, err := io.WriteString(w, mesh.MeshCall("other", req.Input[5:]))
		return err
	case "stream":
		count, _ := strconv.Atoi(string(words[1]))
		for i := 0; i < count; i++ {
			fmt.Fprintf(w, "piece %d\n", i)
		}
		return nil
	case "print":
		fmt.Println("a line of the log")
		fmt.Fprintln(os.Stderr, "an error of the log")
	}
	_, err := w.Write(req.Input)
	return err
}

func min(a, b int) int {
	if a < b {
		return a
	}
	return b
}
