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

// Size limit; engines write about 30 kB.
inline constexpr size_t kSpecLimit = size_t{4} << 20;

// An entry of `mounts`; missing fields are empty.
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

// Holds the text and its tree. Edits change the tree; Print puts the changes into the text, so that
// every other byte stays: fields we do not know, numbers as they were written. Views are valid
// until the next edit. Every reader and edit fails with InvalidArgument, naming the file and the
// field, if a field has another type than the specification requires; null counts as absent, as in
// Go.
class Spec {
 public:
  // `file` is only used in errors. Errors: InvalidArgument (not JSON, not an object), OutOfRange.
  static StatusOr<Spec> Parse(std::string text, std::string file);

  Spec(Spec&&) noexcept;
  Spec& operator=(Spec&&) noexcept;
  Spec(const Spec&) = delete;
  Spec& operator=(const Spec&) = delete;
  ~Spec();

  // process.env as it is: "NAME=value". In runtimes, the last of equal names wins.
  StatusOr<std::vector<std::string_view>> Env() const;
  StatusOr<std::vector<MountView>> Mounts() const;
  StatusOr<std::vector<AnnotationView>> Annotations() const;
  // The program of every hook, of all stages.
  StatusOr<std::vector<std::string_view>> HookPaths() const;
  // Whether linux.namespaces has a namespace of type "user".
  StatusOr<bool> HasUserNamespace() const;

  // Replaces the last occurrence of the name with "NAME=value", or appends it.
  Status SetEnv(std::string_view variable);
  // Both return how many they removed.
  StatusOr<size_t> RemoveMounts(const std::function<bool(const MountView&)>& is_unwanted);
  StatusOr<size_t> RemoveHooks(const std::function<bool(std::string_view path)>& is_unwanted);

  // The text with all edits applied; without edits, exactly the text that was read. Errors:
  // InvalidArgument if an edited list contains a number that would not print as it was written
  // (beyond 64 bits, or a fraction), or if an edited field occurs twice.
  StatusOr<std::string> Print() const;

  // For the edits of this module.
  Tree& tree() { return *tree_; }

 private:
  explicit Spec(std::unique_ptr<Tree> tree);
  std::unique_ptr<Tree> tree_;
};

// The last value of `name` in a list of "NAME=value"; nothing if it does not occur.
std::optional<std::string_view> FindEnv(const std::vector<std::string_view>& env,
                                        std::string_view name);

}  // namespace kgpu::oci
