// Deliberate faults.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace kgpu::kubelet {

enum class FaultKind : uint8_t {
  kError,  // answered with `text` as the error
  kHang,   // never answered
  kDelay,  // answered `delay` later
  kSkip,   // answered, but nothing is done
};

struct Fault {
  FaultKind kind = FaultKind::kError;
  std::string text = {};
  std::chrono::nanoseconds delay{0};
  uint32_t times = 0;  // how often; 0: until Clear
};

// Points where faults are checked.
inline constexpr const char* kRegisterPoint = "register";  // Register on kubelet.sock
inline constexpr const char* kWatcherPoint = "watcher";    // plugins_registry: only kSkip
// A plugin's answer to a call of the watcher gets lost: only kError.
inline constexpr const char* kGetInfoPoint = "getinfo";
inline constexpr const char* kNotifyPoint = "notify";
inline constexpr const char* kPodResourcesPoint = "podresources";  // every method of it

// Lives on the loop's thread.
class Faults {
 public:
  void Set(const std::string& point, const Fault& fault) { faults_[point] = fault; }
  void Clear() { faults_.clear(); }

  // The fault for this call, which is counted.
  std::optional<Fault> Take(const std::string& point) {
    const auto found = faults_.find(point);
    if (found == faults_.end()) {
      return std::nullopt;
    }
    Fault fault = found->second;
    if (fault.times > 0 && --found->second.times == 0) {
      faults_.erase(found);
    }
    return fault;
  }
  const std::map<std::string, Fault>& all() const { return faults_; }

 private:
  std::map<std::string, Fault> faults_;
};

}  // namespace kgpu::kubelet
