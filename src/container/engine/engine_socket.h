// The socket on which an engine can be reached.
#pragma once

#include <string>

#include "src/container/engine/engine.h"
#include "src/platform/sys/root.h"

namespace kgpu::engine {

// Its socket's path, from its daemon's arguments, else from its configuration; `usual` if neither
// sets it or systemd passes the socket; empty if it only listens on the network.
std::string SocketOf(const sys::Root& host, const Engine& engine, const std::string& usual);

}  // namespace kgpu::engine
