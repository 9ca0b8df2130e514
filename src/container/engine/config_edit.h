// What the configuration files of container engines shall say, and the edits that make them say it.
//
// Pure: texts in, texts out; who reads and writes the files is engine/apply's business. Every byte
// that need not change stays: comments, order, indentation, line ends, a byte order mark. A text
// that cannot be edited safely is refused with file:line:column and what to do by hand. An edit
// whose request is met already has no changes and the text it was given.
//
// Text "" stands for a file that is not there, too. A file that was made for us is to be removed
// when Revert leaves "" of it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"
#include "src/platform/edit/change.h"
#include "src/platform/edit/document.h"

namespace kgpu::engine {

inline constexpr std::string_view kDockerConfig = "/etc/docker/daemon.json";
inline constexpr std::string_view kContainerdConfig = "/etc/containerd/config.toml";
inline constexpr std::string_view kContainerdDropIn = "/etc/containerd/conf.d/99-kgpu.toml";
inline constexpr std::string_view kCrioDropIn = "/etc/crio/crio.conf.d/99-kgpu.conf";
// Read after those of others: where one of them has the runtime that is adopted.
inline constexpr std::string_view kCrioLastDropIn = "/etc/crio/crio.conf.d/zz-kgpu.conf";
inline constexpr std::string_view kPodmanDropIn = "/etc/containers/containers.conf.d/99-kgpu.conf";

struct NamedRuntime {
  std::string name = "nvidia";
  std::string path = "/usr/local/bin/kgpu-runtime";
};

// What an engine's configuration shall say. What an engine has no word for is left out of its edit,
// and a note says so.
struct Settings {
  std::optional<NamedRuntime> runtime;
  bool set_default = false;  // `runtime` becomes the one of containers that name none
  std::optional<bool> cdi;   // docker features.cdi, containerd enable_cdi; others always read CDI
  std::vector<std::string> cdi_spec_dirs;          // containerd, CRI-O: added to what is read
  std::vector<std::string> container_annotations;  // containerd: handed on to `runtime`; patterns
  std::vector<std::string> insecure_registries;    // docker: added to what is there
  std::vector<std::string> registry_mirrors;       // docker: added to what is there
};

using KeyChange = edit::Change;

struct TextEdit {
  std::string text;
  std::vector<KeyChange> changes;  // none: nothing to do
  std::vector<std::string> notes;  // for people, e.g. why a key was left alone
};

// How a text is to be read. Revert needs it, so keep it beside the changes.
using TextKind = edit::Syntax;

struct NamedText {
  std::string path;  // as the engine calls it; named in errors
  std::string text;
};

struct FileEdit {
  std::string path;
  TextKind kind = TextKind::kToml;
  TextEdit edit;
};

// /etc/docker/daemon.json. Errors of all edits: InvalidArgument (the text is broken, or a key of it
// has a type that the engine would not take), FailedPrecondition (sound, but not ours to edit).
StatusOr<TextEdit> EditDocker(const NamedText& file, const Settings& settings);

struct ContainerdVersion {
  int major = 0;  // 0: not known, treated as the oldest
  int minor = 0;
};

struct ContainerdInput {
  ContainerdVersion version;
  NamedText main = {std::string(kContainerdConfig), ""};
  // All files that `main` imports today, in the order in which containerd reads them (globs sorted,
  // breadth first), without `drop_in`.
  std::vector<NamedText> imported;
  NamedText drop_in = {std::string(kContainerdDropIn), ""};
};

// The files to write, in an order that is safe to write them in (the drop-in before the `imports`
// line that makes containerd read it; revert goes the other way); a file that needs no change is
// not among them. Before containerd 2.1 that is the one file whose table of the CRI plugin counts:
// the main file, or the last imported one that has such a table. From 2.1 on the drop-in, an import
// that is read later and says otherwise, and the main file for its `imports`. The notes are those
// of the first; where there is only something to say, that is the main file without changes.
StatusOr<std::vector<FileEdit>> EditContainerd(const ContainerdInput& input,
                                               const Settings& settings);

// The template from which k3s and RKE2 make containerd's file (config.toml.tmpl: config_version 2,
// config-v3.toml.tmpl: 3): `{{ template "base" . }}` and our tables. Kind: kTomlTemplate.
StatusOr<TextEdit> EditK3sTemplate(const NamedText& file, int config_version,
                                   const Settings& settings);

struct CrioInput {
  // What CRI-O reads, in its order, without `drop_in`: only looked at, for the default runtime's
  // options, which the new one shall share. A file that is read after the drop-in and says
  // otherwise is an error (FailedPrecondition).
  std::vector<NamedText> files;
  NamedText drop_in = {std::string(kCrioDropIn), ""};
};
StatusOr<TextEdit> EditCrio(const CrioInput& input, const Settings& settings);

// A drop-in of containers.conf. podman reads CDI by itself: only a request for a runtime needs it.
StatusOr<TextEdit> EditPodman(const NamedText& drop_in, const Settings& settings);

// Takes back, last first, the changes whose keys still hold what we wrote; tables, objects and
// lists that we made go when they are empty. Right after the edit this gives the first text, byte
// for byte. Whatever was left, and why, is in the notes; `changes` lists those taken back. Errors:
// InvalidArgument (the text is broken now).
StatusOr<TextEdit> Revert(TextKind kind, const NamedText& file,
                          const std::vector<KeyChange>& changes);

}  // namespace kgpu::engine
