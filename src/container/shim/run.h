// kgpu-runtime as a whole: stands between an engine and its OCI runtime, and puts GPUs into the
// specs of containers that ask for them and may.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "src/container/shim/command_line.h"
#include "src/container/shim/config.h"
#include "src/platform/base/clock.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::shim {

// Where things are. `state` holds our own files, `engine` is the file system as the engine names
// paths.
struct Host {
  const sys::Root& state;
  const sys::Root& engine;
  const Clock& clock;
};

// Edits the spec of the container that `line` starts, if it asks for GPUs and may, and writes the
// audit. Looks at nothing but the spec, the files below host.state, and device nodes of
// host.engine. A container that asks for none is left alone, byte for byte. Errors: the container
// must not start; the text says why.
Status EditBundle(const CommandLine& line, const Config& config, const Host& host);

// Edits the bundle when the call starts a container, then becomes the real runtime with the same
// arguments and `environment`, of which only the marker of a copy of this program is read. Returns
// only when that fails: the exit code.
int Main(int argc, char** argv, char** environment);

}  // namespace kgpu::shim
