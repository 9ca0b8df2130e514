// Removed API groups and versions, and their replacements. Private to this module.
#pragma once

#include <cstdint>
#include <string_view>

#include "src/diagnose/manifest/kubernetes.h"

namespace kgpu::manifest {

enum class Move : uint8_t {
  kSame,      // the same fields
  kWorkload,  // the fields of apps/v1: a selector is required
  kClaim,     // requests of claims are in `exactly`
  kBudget,    // the same fields, but an empty selector selects all pods, not none
  kByHand,
};

struct ApiRow {
  std::string_view version;
  std::string_view kinds;  // separated by blanks; empty: all
  KubernetesVersion gone_by;
  std::string_view successor;     // empty: none
  KubernetesVersion served_from;  // the successor
  Move move = Move::kByHand;
  std::string_view hint = "";
};

// The row for an object; null: its API is current.
const ApiRow* FindApi(std::string_view version, std::string_view kind);

}  // namespace kgpu::manifest
