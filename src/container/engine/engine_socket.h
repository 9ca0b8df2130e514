// Where an engine can be asked.
#pragma once

#include <string>

#include "src/container/engine/engine.h"
#include "src/platform/sys/root.h"

namespace kgpu::engine {

// The path of its socket, by its daemon's arguments, else by its configuration; `usual` where
// nothing is said or systemd hands the socket over, empty where it listens on the network only.
std::string SocketOf(const sys::Root& host, const Engine& engine, const std::string& usual);

}  // namespace kgpu::engine
