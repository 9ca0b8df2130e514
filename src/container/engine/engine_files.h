// The configuration files of one engine, read from the host, and the edits for a request.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/container/engine/config_edit.h"
#include "src/container/engine/engine.h"
#include "src/container/engine/plan.h"
#include "src/platform/base/status.h"
#include "src/platform/edit/document.h"
#include "src/platform/sys/root.h"

namespace kgpu::engine {

struct EngineFiles {
  std::optional<std::string> main;       // of Engine::config_file; empty: it does not exist
  std::optional<std::string> generated;  // of Engine::generated_file
  std::vector<NamedText> others;         // the other files it reads, in order
  std::string drop_in_path;              // ours; empty: this engine has none
  std::optional<std::string> drop_in;
};

// Makes the engine read our drop-in last.
void UseLastDropIn(EngineFiles& files);

// The syntax of one of the engine's files.
edit::Syntax SyntaxOf(const Engine& engine, std::string_view path);

// Whether a distribution merges our drop-in into what it generates, or has it imported there. Then
// no other file is edited.
bool HasOnlyDropIn(const Engine& engine);

// The texts that take effect, in the order in which the engine or its distribution reads them; a
// later one wins.
std::vector<NamedText> InOrder(const Engine& engine, const EngineFiles& files);

// Nothing if there is no such file. Errors: FailedPrecondition (a folder or device, or a link to
// one or to nothing), else those of Root::ReadFile.
StatusOr<std::optional<std::string>> ReadIfThere(const sys::Root& host, const std::string& path);

// Errors: those of reading a file that exists; InvalidArgument (containerd imports that are
// unreadable).
StatusOr<EngineFiles> ReadEngineFiles(const sys::Root& host, const Engine& engine);

// Whether a file of an engine that reads CDI by default disables it. Errors: InvalidArgument (an
// invalid file).
StatusOr<bool> IsCdiOff(const Engine& engine, const EngineFiles& files);

// The edits of the engine's files; appends to `notes` what people should know about them.
StatusOr<std::vector<FileStep>> Edit(const Engine& engine, const EngineFiles& files,
                                     const Settings& settings, std::vector<std::string>& notes);

// Makes containerd look for hosts.toml files: adds config_path to the edits of its main file if no
// file sets it. Returns the folder. Errors: FailedPrecondition (registries configured in the main
// file itself, which containerd refuses together with config_path).
StatusOr<std::string> UseRegistryFolder(const Engine& engine, const EngineFiles& files,
                                        std::vector<FileStep>& steps);

}  // namespace kgpu::engine
