// API groups and their versions that are gone, and what takes their place. Private to this module.
#pragma once

#include <cstdint>
#include <string_view>

#include "src/diagnose/manifest/kubernetes.h"

namespace kgpu::manifest {

enum class Move : uint8_t {
  kSame,      // the same fields
  kWorkload,  // those of apps/v1: a selector is needed
  kClaim,     // requests of claims stand in `exactly`
  kBudget,    // the same fields, but an empty selector takes all pods, not none
  kByHand,
};

struct ApiRow {
  std::string_view version;
  std::string_view kinds;  // between blanks; empty: all
  KubernetesVersion gone_by;
  std::string_view successor;     // empty: none
  KubernetesVersion served_from;  // the successor
  Move move = Move::kByHand;
  std::string_view hint = "";
};

// The row of an object; null: nothing is known against it.
const ApiRow* FindApi(std::string_view version, std::string_view kind);

}  // namespace kgpu::manifest
