// The kubelet's memory of the health of DRA devices.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "src/platform/base/clock.h"
#include "testing/kubelet/dra_api.h"

namespace kgpu::kubelet {

// Lives on the loop's thread.
class DraHealth {
 public:
  using DeviceName = std::pair<std::string, std::string>;  // pool, device
  struct Shown {
    std::string health;
    std::string message;
  };

  // `clock` must outlive this. `timeout`: of reports without one.
  DraHealth(const Clock& clock, std::chrono::nanoseconds timeout)
      : clock_(clock), timeout_(timeout) {}

  // Takes a plugin's complete list. Devices that it leaves out keep their health until it expires.
  // Returns the devices with another health, message or timeout than before.
  std::set<DeviceName> Update(const std::string& driver, const std::vector<HealthReport>& reports);
  void Forget(const std::string& driver) { drivers_.erase(driver); }
  // "Unknown" if there is no report, or the last one is older than its timeout.
  Shown Find(const std::string& driver, const DeviceName& name) const;

 private:
  struct Entry {
    std::string health;
    std::string message;
    std::chrono::nanoseconds timeout{0};
    SteadyTime received_at;
  };

  const Clock& clock_;
  std::chrono::nanoseconds timeout_;
  std::map<std::string, std::map<DeviceName, Entry>> drivers_;
};

}  // namespace kgpu::kubelet
