// Waits for a folder's content.
#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace kgpu::integration {

// Waits until `condition` holds; it is called again after each change in `folder`, and now and then
// for changes that no watch reports. False if it did not hold within `limit`.
bool WaitInFolder(const std::string& folder, const std::function<bool()>& condition,
                  std::chrono::milliseconds limit = std::chrono::seconds(20));

}  // namespace kgpu::integration
