#include "src/functions/replicas/replica.h"

#include <array>
#include <chrono>
#include <utility>

#include "src/functions/replicas/replica_set.h"

namespace kgpu::functions {

std::string_view NameOf(ReplicaState state) {
  static constexpr std::array<std::string_view, 5> kNames = {"cold", "starting", "running",
                                                             "draining", "gone"};
  return kNames.at(static_cast<size_t>(state));
}

Replica::Replica(ReplicaSet& set, std::string id)
    : set_(set), id_(std::move(id)), idle_(set.loop(), {}) {
  set_.Add(*this);
}

Replica::~Replica() {
  set_.Remove(*this);
}

void Replica::Changed() {
  set_.ScheduleSettle();
}

void Replica::CountGpuTime() {
  const SteadyTime now = set_.loop().clock().Now();
  const double held = std::chrono::duration<double>(now - std::exchange(counted_, now)).count() *
                      static_cast<double>(gpus_);
  if (held > 0) {
    set_.AddGpuTime(in_flight_ > 0 ? held : 0, held);
  }
}

void Replica::SetGpus(int64_t gpus) {
  CountGpuTime();
  gpus_ = gpus;
}

void Replica::DropConnections() {
  while (idle_.Take() != nullptr) {
  }
}

void Replica::BeginCall() {
  CountGpuTime();
  ++in_flight_;
  OnBusy();
}

void Replica::EndCall() {
  CountGpuTime();
  if (--in_flight_ == 0) {
    OnIdle();
  }
}

}  // namespace kgpu::functions
