#include "src/node/sharing/mig/mig.h"

#include "src/node/sharing/checks.h"
#include "src/node/sharing/mig/layout.h"

namespace kgpu::sharing {

constinit const MigKind kMig;

void MigKind::Check(const GivenFields& given, Share& share, const Refuse& refuse) const {
  if (given.replicas || given.size || given.memory || given.multiple) {
    refuse(
        "by: mig takes layout alone: remove replicas, size, multiple, context, pinned, unknown, "
        "onExcess and compute");
  }
  if (!given.layout || !share.layout.empty()) {
    refuse(
        fmt::format("layout: {}: list the MIG instances of each GPU: [3g.40gb, 2g.20gb, 1g.10gb]",
                    given.layout ? "has sizes of memory slices" : "missing"));
  } else if (const Status status = CheckMigLayout(share.profiles); !status.ok()) {
    refuse(fmt::format("layout: {}", Message(status)));
  }
  RefuseThreads(given, refuse);
}

std::vector<PoolProblem> MigKind::CheckPool(const PoolFacts& facts) const {
  std::vector<PoolProblem> problems;
  if (facts.sets_mig) {
    problems.push_back(
        {"mig", "share.by: mig advertises the MIG devices of its layout: remove mig"});
  }
  if (facts.names_mig_devices) {
    problems.push_back(
        {"devices", "share.by: mig partitions whole GPUs: select GPUs, no MIG devices"});
  }
  return problems;
}

// MIG devices as any others.
StatusOr<std::vector<Cut>> MigKind::CutsOf(const Share& /*share*/,
                                           std::optional<Bytes> /*usable*/) const {
  return std::vector<Cut>{{.share = Share(), .slots = 1}};
}

}  // namespace kgpu::sharing
