// What a program asks for when it borrows GPUs.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/bytes.h"
#include "src/platform/base/status.h"

namespace kgpu::loans {

inline constexpr size_t kMaxRequestBytes = size_t{64} << 10;
inline constexpr size_t kMaxModels = 32;

struct LoanRequest {
  std::string holder{};
  size_t count = 1;
  // As in a selector: "A100-SXM4-80GB", "A100-*"; the first with enough free GPUs wins. Empty: any.
  std::vector<std::string> models{};
  std::optional<Bytes> memory{};  // of each GPU: a slice suffices
  bool operator==(const LoanRequest&) const = default;
};

// The body of POST /v1/loans: {"holder": "fn/hello/4f1c", "count": 2, "models": ["A100-*"],
// "memory": 21474836480}. Only `holder` is required. Errors: InvalidArgument naming the field.
StatusOr<LoanRequest> ParseLoanRequest(std::string_view body);

}  // namespace kgpu::loans
