// Package sdk has what a Go handler gets, and serves the calls of kgpu-fnwatch.
// The protocol is on descriptors 3 (to us) and 4 (from us): docs/how-it-works/function-watchdog.md.
// What the handler prints is its log. Standard library only.
package sdk

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
)

const (
	headSize   = 12
	maxPayload = 1 << 20
	maxFailure = 16384
)

// Request is one call.
type Request struct {
	Input  []byte
	CallID string
	Method string
	// Path is as received: escapes are not decoded.
	Path  string
	Query string
	// Headers have names in lower case.
	Headers map[string]string
	// DeadlineMs is the time that the call had when it came.
	DeadlineMs int64

	call *call
}

// SetStatus sets the status code of the answer. Before the first byte of it.
func (r Request) SetStatus(status int) { r.call.status = status }

// SetHeader sets a header of the answer. Before the first byte of it.
func (r Request) SetHeader(name, value string) { r.call.headers[name] = []string{value} }

// AddHeader adds one field more of this name, such as a second Set-Cookie.
func (r Request) AddHeader(name, value string) {
	r.call.headers[name] = append(r.call.headers[name], value)
}

// IsGivenUp says whether nobody waits for the answer any more.
func (r Request) IsGivenUp() bool { return r.call.isGivenUp.Load() }

// Streamer answers a call in pieces: each Write is sent at once.
type Streamer func(req Request, w io.Writer) error

type about struct {
	ID         string            `json:"id"`
	Method     string            `json:"method"`
	Path       string            `json:"path"`
	Query      string            `json:"query"`
	Headers    map[string]string `json:"headers"`
	DeadlineMs int64             `json:"deadlineMs"`
}

type call struct {
	number    uint32
	about     []byte
	input     bytes.Buffer
	isGivenUp atomic.Bool
	status    int
	headers   map[string][]string
	hasHead   bool
}

// output writes frames; calls take turns.
type output struct {
	mutex sync.Mutex
	file  *os.File
}

func (o *output) send(kind byte, number uint32, payload []byte) {
	frame := make([]byte, headSize, headSize+len(payload))
	binary.LittleEndian.PutUint32(frame, uint32(len(payload)))
	frame[4] = kind
	binary.LittleEndian.PutUint32(frame[8:], number)
	frame = append(frame, payload...)
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if _, err := o.file.Write(frame); err != nil {
		os.Exit(0) // the watchdog is gone
	}
}

// writer sends the pieces of one answer.
type writer struct {
	call   *call
	output *output
}

func (w *writer) sendHead() {
	c := w.call
	if c.hasHead {
		return
	}
	c.hasHead = true
	if c.status == 200 && len(c.headers) == 0 {
		return
	}
	head, _ := json.Marshal(map[string]any{"status": c.status, "headers": c.headers})
	if len(head) > maxPayload {
		head = head[:maxPayload] // which the watchdog refuses, for this call only
	}
	w.output.send('H', c.number, head)
}

// Write sends a piece. io.ErrClosedPipe: nobody waits any more.
func (w *writer) Write(piece []byte) (int, error) {
	if w.call.isGivenUp.Load() {
		return 0, io.ErrClosedPipe
	}
	w.sendHead()
	for rest := piece; len(rest) > 0; {
		part := rest
		if len(part) > maxPayload {
			part = part[:maxPayload]
		}
		w.output.send('D', w.call.number, part)
		rest = rest[len(part):]
	}
	return len(piece), nil
}

type worker struct {
	handler Streamer
	output  *output
	mutex   sync.Mutex
	calls   map[uint32]*call
	running sync.WaitGroup
}

func (w *worker) run(c *call) {
	defer w.running.Done()
	failure := w.answer(c)
	w.mutex.Lock()
	delete(w.calls, c.number)
	w.mutex.Unlock()
	if failure == "" {
		w.output.send('E', c.number, nil)
		return
	}
	if len(failure) > maxFailure {
		failure = failure[:maxFailure]
	}
	w.output.send('F', c.number, []byte(failure))
}

// answer calls the handler; what it returns is why that failed.
func (w *worker) answer(c *call) (failure string) {
	defer func() {
		if panicked := recover(); panicked != nil {
			failure = fmt.Sprint("panic: ", panicked)
			fmt.Fprintf(os.Stderr, "%s\n%s", failure, debug.Stack())
		}
	}()
	var a about
	if err := json.Unmarshal(c.about, &a); err != nil {
		return err.Error()
	}
	request := Request{Input: c.input.Bytes(), CallID: a.ID, Method: a.Method, Path: a.Path,
		Query: a.Query, Headers: a.Headers, DeadlineMs: a.DeadlineMs, call: c}
	out := &writer{call: c, output: w.output}
	if err := w.handler(request, out); err != nil && !c.isGivenUp.Load() {
		fmt.Fprintln(os.Stderr, "handler:", err)
		return err.Error()
	}
	out.sendHead()
	return ""
}

func (w *worker) take(kind byte, number uint32, payload []byte) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if kind == 'C' {
		w.calls[number] = &call{number: number, about: payload, status: 200, headers: map[string][]string{}}
		return
	}
	c, isKnown := w.calls[number]
	if !isKnown {
		return
	}
	switch kind {
	case 'D':
		c.input.Write(payload)
	case 'X':
		c.isGivenUp.Store(true)
	case 'E':
		w.running.Add(1)
		go w.run(c)
	}
}

// read takes frames until the watchdog wants no more. False: it is gone.
func (w *worker) read(in io.Reader) bool {
	reader := bufio.NewReaderSize(in, 256<<10)
	head := make([]byte, headSize)
	for {
		if _, err := io.ReadFull(reader, head); err != nil {
			return false
		}
		payload := make([]byte, binary.LittleEndian.Uint32(head))
		if _, err := io.ReadFull(reader, payload); err != nil {
			return false
		}
		if head[4] == 'Q' {
			return true
		}
		w.take(head[4], binary.LittleEndian.Uint32(head[8:]), payload)
	}
}

// Serve answers calls until the watchdog wants no more. It does not return.
func Serve(handler Streamer) {
	concurrency, _ := strconv.Atoi(os.Getenv("KGPU_FN_CONCURRENCY"))
	out := &output{file: os.NewFile(4, "to the watchdog")}
	ready, _ := json.Marshal(map[string]any{"concurrent": concurrency > 1, "runtime": runtime.Version()})
	out.send('R', 0, ready)
	w := &worker{handler: handler, output: out, calls: map[uint32]*call{}}
	if w.read(os.NewFile(3, "from the watchdog")) {
		w.running.Wait()
	}
	os.Exit(0)
}

// Of wraps a handler of any of the signatures that a function may have.
func Of(handler any) Streamer {
	switch h := handler.(type) {
	case func(Request) string:
		return func(req Request, w io.Writer) error {
			_, err := io.WriteString(w, h(req))
			return err
		}
	case func(Request) ([]byte, error):
		return func(req Request, w io.Writer) error {
			answer, err := h(req)
			if err == nil {
				_, err = w.Write(answer)
			}
			return err
		}
	case func(Request, io.Writer) error:
		return h
	}
	fmt.Fprintf(os.Stderr, "handler: func(sdk.Request) string, func(sdk.Request) ([]byte, error) or "+
		"func(sdk.Request, io.Writer) error is needed, not %T\n", handler)
	os.Exit(1)
	return nil
}
