// Which sources a list of names selects.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace kgpu::features {

// "custom" only has labels: those of NFD's built-in rules.
inline constexpr std::array kSourceNames = std::to_array<std::string_view>(
    {"cpu", "custom", "iommu", "kernel", "memory", "network", "pci", "storage", "system", "usb"});

// See FeatureOptions::feature_sources: the last entry for `source` wins.
bool IsSourceWanted(const std::vector<std::string>& wanted, std::string_view source);

}  // namespace kgpu::features
