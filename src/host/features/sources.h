// Which sources a list of names asks for.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace kgpu::features {

// "custom" has labels only: those of NFD's built-in rules.
inline constexpr std::array kSourceNames = std::to_array<std::string_view>(
    {"cpu", "custom", "iommu", "kernel", "memory", "network", "pci", "storage", "system", "usb"});

// See FeatureOptions::feature_sources: the last word on `source` counts.
bool IsSourceWanted(const std::vector<std::string>& wanted, std::string_view source);

}  // namespace kgpu::features
