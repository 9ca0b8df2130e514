// What several gateways report to each other: how many calls each has of which function. A gateway
// writes it to a Lease of its own, if it has any; the one that scales reads them all.
#pragma once

#include <boost/json/fwd.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "src/kube/api/client.h"
#include "src/kube/api/reflector.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/random.h"
#include "src/platform/base/status.h"
#include "src/platform/base/timer.h"

namespace kgpu::functions {

using Demand = std::map<std::string, int64_t>;  // calls by key; none is 0

// {"hello": 3} as one text; at most 64 KiB: what is over it is left out.
std::string PrintDemand(const Demand& demand);
// Errors: InvalidArgument: not what PrintDemand writes; more than 5,000 functions.
StatusOr<Demand> ParseDemand(std::string_view text);

struct BoardOptions {
  std::string space{};     // of the gateways
  std::string identity{};  // of this one: its pod's name
};

// Lives on the loop's thread.
class DemandBoard {
 public:
  // `changed`: what others have is different now. All references must outlive the board.
  DemandBoard(EventLoop& loop, kube::Client& client, Random& random, BoardOptions options,
              std::function<void()> changed);
  ~DemandBoard();
  DemandBoard(const DemandBoard&) = delete;
  DemandBoard& operator=(const DemandBoard&) = delete;

  // The calls that this gateway has of a function. Written at most every 2 s, and again every 10 s
  // while there are any, so that others see that it lives; nothing is written at rest, nor by the
  // one that scales.
  void Show(const std::string& key, int64_t calls);
  void SetScaling(bool is_scaling);
  // What the others have of a function. A gateway that has not written for 30 s has ended.
  int64_t OthersCalls(const std::string& key) const;
  // Whether the others' Leases have been read.
  bool is_synced() const { return reflector_->is_synced(); }

 private:
  struct Other {
    std::string version;
    SteadyTime changed;  // when its Lease changed last, by our clock
    Demand demand;
  };
  void OnLease(const kube::ObjectPtr& lease);
  void OnLeaseGone(const kube::ObjectPtr& lease);
  void ArmWrite();
  void Write();
  void DropDead();

  EventLoop& loop_;
  kube::Client& client_;
  const BoardOptions options_;
  const std::function<void()> changed_;
  Demand shown_;
  Demand written_;
  bool has_changed_ = false;  // shown_ has changed since it was written
  bool is_scaling_ = false;
  SteadyTime last_write_;
  SteadyTime write_due_;  // while write_timer_ is set
  Timer write_timer_;
  Timer drop_timer_;
  std::unique_ptr<kube::Call> call_;
  std::map<std::string, std::unique_ptr<kube::Call>> removals_;  // of Leases of the dead
  std::map<std::string, Other> others_;
  std::unique_ptr<kube::Reflector> reflector_;
};

}  // namespace kgpu::functions
