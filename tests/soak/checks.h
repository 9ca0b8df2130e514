// The rules for a node of a soak run: always, before a fault is repaired, and at rest.
#pragma once

#include <boost/json.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "tests/soak/node.h"

namespace kgpu::soak {

class SoakChecks : public SoakNode {
 protected:
  static constexpr std::chrono::seconds kPatience{90};
  // A GPU that hangs again and again is asked after up to five minutes (inventory/hung_gpus).
  static constexpr std::chrono::minutes kLongPatience{6};

  // "": every fault of the round is reported, or cannot be now.
  std::string CheckReported();
  // Waits until everything is at rest. "" or what is not.
  std::string Settle();
  // At any moment. "" or devices with more than one daemon of MPS.
  std::string CheckDaemons() const;
  // A window in which nothing happens: the agent may not work, write or log.
  std::string CheckRest();

  size_t reports_ = 0;  // faults that were seen reported
  size_t rests_ = 0;

 private:
  std::string Unrest();
  std::string CheckDevices(const boost::json::value& status) const;
  std::string CheckKubelet(const boost::json::value& status) const;
  std::string CheckPods() const;
  std::string CheckSlices(const boost::json::value& status) const;
  std::string CheckClaims(const boost::json::value& status) const;
  std::string CheckLoans(const boost::json::value& status) const;
  std::string CheckMps() const;
  std::string CheckHealth() const;
  std::string CheckNode() const;
  bool IsReported(const ExpectedReport& fault) const;
};

}  // namespace kgpu::soak
