// A client's end of the state server's socket. C style: this library has no C++ runtime below it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "testing/driver/protocol.h"
#include "testing/driver/state.h"

namespace kgpu::sim {

// How long a server may take to say hello or to answer a command.
inline constexpr int kAnswerMs = 3000;

// The read-only state of a connection.
struct SharedState {
  const SimState* state = nullptr;
  size_t size = 0;  // bytes that may be read: fewer than sizeof(SimState) after a short state file
};

// Connects to the server of the host at `root` and receives its hello. Returns the socket, or -1 if
// nobody (or no state server) answers. `shared` null: does not map the state. Source: protocol.h.
int Connect(const char* root, SharedState* shared);
void Unmap(const SharedState& shared);

bool SendFrame(int fd, uint32_t type, const void* payload, uint32_t size);

// Sends one request and takes its reply; the memfd in it goes to `passed`, -1: there is none. One
// caller at a time, on a connection that has subscribed to no event. False: the server is gone.
bool AskMemory(int fd, const MemoryRequest& request, MemoryReply* reply, int* passed);

// True if the peer has closed; discards what it has sent so far.
bool Drain(int fd);

// Runs one line of command.h; returns the absl::StatusCode of the response, -1 if there was none.
// Copies the server's text into `answer`, truncated to `size` bytes including the terminating zero.
int RunCommand(const char* root, const char* line, char* answer, size_t size);

}  // namespace kgpu::sim
