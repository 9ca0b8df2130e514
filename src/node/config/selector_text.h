// The values of a selector's fields as text: parsed strictly, and printed so that they read back
// the same. Pure functions; errors are InvalidArgument with the value and the fix.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "src/node/config/selector.h"

namespace kgpu::config {

// Limit for index ranges, such as "0-65535"; no host has more devices.
inline constexpr unsigned kMaxIndex = 65'535;

// ">= 40Gi": one of < <= = >= > and a quantity.
StatusOr<MemoryBound> ParseMemoryBound(std::string_view text);
// ">= 8.0", "= 9".
StatusOr<ComputeBound> ParseComputeBound(std::string_view text);
// "3", "0-3", "0-3,6": in the order given.
StatusOr<std::vector<unsigned>> ParseNumbers(std::string_view text);
// A canonical model id, with "*" anywhere. Refuses a driver's name of a model, naming its id.
StatusOr<std::string> ParseModel(std::string_view text);
// "GPU-…", "MIG-…" or a prefix of one with at least 8 hex digits, in lower case.
StatusOr<std::string> ParseUuid(std::string_view text);
// A MIG profile, with "*" anywhere: "1g.10gb", "1g.*", "*".
StatusOr<std::string> ParseMigProfile(std::string_view text);
// "0000:07:00.0", or "07:00.0" in domain 0.
StatusOr<device::PciBusId> ParsePci(std::string_view text);

std::string ToString(const MemoryBound& bound);   // ">= 40Gi"
std::string ToString(const ComputeBound& bound);  // ">= 8.0"
// Runs of three or more become ranges: {0, 1, 2, 3, 6} is "0-3", "6".
std::vector<std::string> NumberWords(const std::vector<unsigned>& numbers);

// Whether `text` matches `pattern`, in which "*" stands for any run of characters.
bool MatchesPattern(std::string_view pattern, std::string_view text);

}  // namespace kgpu::config
