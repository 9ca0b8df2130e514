// An OCI runtime specification: the config.json of a bundle, which an engine writes and a runtime
// (runc, crun) reads. Sources: config.md and config-linux.md of opencontainers/runtime-spec.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"

namespace kgpu::oci {

// Larger ones are refused; what engines write has some 30 kB.
inline constexpr size_t kSpecLimit = size_t{4} << 20;

// One entry of `mounts`; fields that are not there are empty.
struct MountView {
  size_t index = 0;
  std::string_view destination;
  std::string_view source;
};

struct AnnotationView {
  std::string_view key;
  std::string_view value;
};

class Tree;

// Holds the text and its tree. Edits change the tree; Print puts what was changed into the text, so
// that every other byte stays: fields we do not know, numbers as they were written. Views live
// until the next edit. Every reader and edit errs with InvalidArgument, naming the file and the
// field, where a field has another type than the specification says; null counts as not there, as
// it does in Go.
class Spec {
 public:
  // `file` is only named in errors. Errors: InvalidArgument (not JSON, not an object), OutOfRange.
  static StatusOr<Spec> Parse(std::string text, std::string file);

  Spec(Spec&&) noexcept;
  Spec& operator=(Spec&&) noexcept;
  Spec(const Spec&) = delete;
  Spec& operator=(const Spec&) = delete;
  ~Spec();

  // process.env as it stands: "NAME=value". Runtimes let the last of equal names win.
  StatusOr<std::vector<std::string_view>> Env() const;
  StatusOr<std::vector<MountView>> Mounts() const;
  StatusOr<std::vector<AnnotationView>> Annotations() const;
  // The program of every hook, of all stages.
  StatusOr<std::vector<std::string_view>> HookPaths() const;
  // True with a namespace of type "user" in linux.namespaces.
  StatusOr<bool> HasUserNamespace() const;

  // Sets "NAME=value" where the name stands last, or behind all others.
  Status SetEnv(std::string_view variable);
  // Both return how many they removed.
  StatusOr<size_t> RemoveMounts(const std::function<bool(const MountView&)>& is_unwanted);
  StatusOr<size_t> RemoveHooks(const std::function<bool(std::string_view path)>& is_unwanted);

  // The text with all edits in it; without any edit the very text that was read.
  // Errors: InvalidArgument for a list that was edited and holds a number that would not be printed
  // as it was written (past 64 bits, or a fraction), or where a field that was edited stands twice.
  StatusOr<std::string> Print() const;

  // For the edits of this module.
  Tree& tree() { return *tree_; }

 private:
  explicit Spec(std::unique_ptr<Tree> tree);
  std::unique_ptr<Tree> tree_;
};

// The last value of `name` in a list of "NAME=value"; nothing when the name is not there.
std::optional<std::string_view> FindEnv(const std::vector<std::string_view>& env,
                                        std::string_view name);

}  // namespace kgpu::oci
