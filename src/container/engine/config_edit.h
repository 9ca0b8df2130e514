// The intended content of container engines' configuration files, and the edits to get there.
//
// Pure: texts in, texts out; engine/apply reads and writes the files. Every byte that need not
// change stays: comments, order, indentation, line ends, a byte order mark. A text that cannot be
// edited safely is refused with file:line:column and what to do by hand. If a request is already
// fulfilled, the edit has no changes and returns the given text.
//
// A missing file is "" too. If a file was created for us and Revert leaves "" of it, remove
// the file.
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
inline constexpr std::string_view kPodmanDropIn = "/etc/containers/containers.conf.d/99-kgpu.conf";

struct NamedRuntime {
  std::string name = "nvidia";
  std::string path = "/usr/local/bin/kgpu-runtime";
};

// The intended settings of an engine. If an engine has no such setting, its edit leaves it out and
// adds a note.
struct Settings {
  std::optional<NamedRuntime> runtime;
  bool set_default = false;  // `runtime` becomes the default for containers that name none
  std::optional<bool> cdi;   // docker features.cdi, containerd enable_cdi; others always read CDI
  std::vector<std::string> cdi_spec_dirs;          // containerd, CRI-O: added to existing ones
  std::vector<std::string> container_annotations;  // containerd: passed on to `runtime`; patterns
  std::vector<std::string> insecure_registries;    // docker: added to existing ones
  std::vector<std::string> registry_mirrors;       // docker: added to existing ones
};

using KeyChange = edit::Change;

struct TextEdit {
  std::string text;
  std::vector<KeyChange> changes;  // none: nothing to do
  std::vector<std::string> notes;  // for people, e.g. why a key was left alone
};

// How to parse a text. Revert needs it, so store it beside the changes.
using TextKind = edit::Syntax;

struct NamedText {
  std::string path;  // as the engine names it; used in errors
  std::string text;
};

struct FileEdit {
  std::string path;
  TextKind kind = TextKind::kToml;
  TextEdit edit;
};

// /etc/docker/daemon.json. Errors of all edits: InvalidArgument (invalid text, or a key has a type
// that the engine would refuse), FailedPrecondition (valid, but not ours to edit).
StatusOr<TextEdit> EditDocker(const NamedText& file, const Settings& settings);

struct ContainerdVersion {
  int major = 0;  // 0: unknown, treated as the oldest
  int minor = 0;
};

struct ContainerdInput {
  ContainerdVersion version;
  NamedText main = {std::string(kContainerdConfig), ""};
  // All files that `main` currently imports, in the order in which containerd reads them (globs
  // sorted, breadth first), without `drop_in`.
  std::vector<NamedText> imported;
  NamedText drop_in = {std::string(kContainerdDropIn), ""};
  // Another program makes `main` again at each start, of `imported` and `drop_in` or with an import
  // of them: only the drop-in and later imports are edited, and do not rely on earlier files.
  bool is_main_generated = false;
};

// The files to write, without unchanged ones, in a safe order (the drop-in before the `imports`
// line that makes containerd read it; revert goes the other way). Before containerd 2.1, and if
// `drop_in` has no path, it is the one file whose CRI plugin table takes effect: the main file, or
// the last imported one that has such a table. From 2.1 on, the drop-in, an import that is read
// later and contradicts it, and the main file for its `imports`. The first file has the notes; if
// there are only notes, it is the main file without changes.
StatusOr<std::vector<FileEdit>> EditContainerd(const ContainerdInput& input,
                                               const Settings& settings);

// The template from which k3s and RKE2 generate containerd's file (config.toml.tmpl: config_version
// 2, config-v3.toml.tmpl: 3): `{{ template "base" . }}` and our tables. Kind: kTomlTemplate.
StatusOr<TextEdit> EditK3sTemplate(const NamedText& file, int config_version,
                                   const Settings& settings);

struct CrioInput {
  // The files that CRI-O reads, in order, without `drop_in`: only read, for the default runtime's
  // options, which the new runtime should share. It is an error (FailedPrecondition) if a file that
  // is read after the drop-in contradicts it.
  std::vector<NamedText> files;
  NamedText drop_in = {std::string(kCrioDropIn), ""};
};
StatusOr<TextEdit> EditCrio(const CrioInput& input, const Settings& settings);

// A containers.conf drop-in. podman always reads CDI: only a request for a runtime needs this.
StatusOr<TextEdit> EditPodman(const NamedText& drop_in, const Settings& settings);

// Reverts, last first, the changes whose keys still hold what we wrote; removes tables, objects and
// lists that we created once they are empty. Directly after the edit, this restores the original
// text, byte for byte. The notes say what was left, and why; `changes` lists those that were
// reverted. Errors: InvalidArgument (the text is invalid now).
StatusOr<TextEdit> Revert(TextKind kind, const NamedText& file,
                          const std::vector<KeyChange>& changes);

}  // namespace kgpu::engine
