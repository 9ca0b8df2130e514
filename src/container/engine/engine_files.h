// The configuration files of one engine, read from the host, and the edits that a request takes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/container/engine/config_edit.h"
#include "src/container/engine/engine.h"
#include "src/container/engine/plan.h"
#include "src/platform/base/status.h"
#include "src/platform/edit/document.h"
#include "src/platform/sys/root.h"

namespace kgpu::engine {

struct EngineFiles {
  std::optional<std::string> main;  // of Engine::config_file; empty: not there
  std::vector<NamedText> others;    // what the engine reads besides, in its order
  std::string drop_in_path;         // ours; empty: this engine has none
  std::optional<std::string> drop_in;
};

// Lets our drop-in of CRI-O be read last.
void UseLastDropIn(EngineFiles& files);

// What Engine::config_file is written in.
edit::Syntax SyntaxOf(const Engine& engine);

// Nothing when there is no such file. Errors: FailedPrecondition (a folder or device, a link to one
// or to nothing), else those of Root::ReadFile.
StatusOr<std::optional<std::string>> ReadIfThere(const sys::Root& host, const std::string& path);

// Errors: those of reading a file that is there; InvalidArgument (imports of containerd that can
// not be read).
StatusOr<EngineFiles> ReadEngineFiles(const sys::Root& host, const Engine& engine);

// Whether a file of an engine that reads CDI by default switches it off. Errors: InvalidArgument (a
// file that is broken).
StatusOr<bool> IsCdiOff(const Engine& engine, const EngineFiles& files);

// The edits of the engine's files; `notes` gets what is to be said about them.
StatusOr<std::vector<FileStep>> Edit(const Engine& engine, const EngineFiles& files,
                                     const Settings& settings, std::vector<std::string>& notes);

// Lets containerd look for hosts.toml files: adds config_path to the edits of its main file where
// no file sets it. Returns the folder. Errors: FailedPrecondition (registries configured in the
// main file itself, which containerd does not take together with config_path).
StatusOr<std::string> UseRegistryFolder(const Engine& engine, const EngineFiles& files,
                                        std::vector<FileStep>& steps);

}  // namespace kgpu::engine
