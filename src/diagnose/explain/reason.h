// Why a pod has no GPU: entries of a table, and what was found.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"

namespace kgpu::explain {

enum class About : uint8_t {
  kNode,  // why one node does not fit
  kPod,   // the pod's own
};
// "node", "pod".
std::string_view ToString(About about);

struct ReasonKind {
  std::string_view id;  // never changes
  About about = About::kNode;
  bool is_blocking = true;  // false: a remark
  std::string_view title;   // what is so
};

// In the order in which they are told.
std::span<const ReasonKind> ReasonKinds();
// Of an id of the table.
const ReasonKind& KindOf(std::string_view id);

struct Reason {
  std::string_view id{};
  std::string evidence{};           // what was seen, with names and values
  std::vector<std::string> mend{};  // commands, in order; "#" begins what a person has to do
  bool operator==(const Reason&) const = default;

  bool is_blocking() const { return KindOf(id).is_blocking; }
};

bool HasBlocking(const std::vector<Reason>& reasons);

// For docs/explain.md, and for `kgpu explain reasons`.
std::string ReasonsMarkdown();

}  // namespace kgpu::explain
