// All of kgpu-runtime: runs between an engine and its OCI runtime, and adds GPUs to the specs of
// containers that request them and may have them.
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

// Where files are. `state` contains our own files, `engine` is the file system by the engine's
// paths.
struct Host {
  const sys::Root& state;
  const sys::Root& engine;
  const Clock& clock;
};

// Edits the spec of the container that `line` starts, if it requests GPUs and may have them, and
// writes the audit log. Reads only the spec, files below host.state, and device nodes of
// host.engine. A container that requests none stays unchanged, byte for byte. Errors: the container
// must not start; the text says why.
Status EditBundle(const CommandLine& line, const Config& config, const Host& host);

// Edits the bundle if the call starts a container, then becomes the real runtime with the same
// arguments and `environment`; of the latter it only reads the marker of a copy of this program.
// Returns the exit code, and only on failure.
int Main(int argc, char** argv, char** environment);

}  // namespace kgpu::shim
