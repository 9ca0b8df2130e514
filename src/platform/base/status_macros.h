// RETURN_IF_ERROR(expr) and ASSIGN_OR_RETURN(lhs, expr): return an error unchanged. To add what
// this layer knows, test the status and return Annotate(…) instead.
#pragma once

#include "src/platform/base/status.h"

#define KGPU_MACRO_CONCAT_INNER(a, b) a##b
#define KGPU_MACRO_CONCAT(a, b) KGPU_MACRO_CONCAT_INNER(a, b)

#define RETURN_IF_ERROR(expr)                                       \
  do {                                                              \
    if (::kgpu::Status kgpu_status_ = (expr); !kgpu_status_.ok()) { \
      return kgpu_status_;                                          \
    }                                                               \
  } while (false)

#define ASSIGN_OR_RETURN(lhs, expr) \
  ASSIGN_OR_RETURN_IMPL(KGPU_MACRO_CONCAT(kgpu_statusor_, __LINE__), lhs, expr)

// NOLINTBEGIN(bugprone-macro-parentheses): a declaration cannot stand in parentheses
#define ASSIGN_OR_RETURN_IMPL(statusor, lhs, expr) \
  auto statusor = (expr);                          \
  if (!statusor.ok()) {                            \
    return statusor.status();                      \
  }                                                \
  lhs = *std::move(statusor)
// NOLINTEND(bugprone-macro-parentheses)
