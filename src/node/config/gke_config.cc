#include "src/node/config/gke_config.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "src/node/config/foreign_reader.h"
#include "src/node/config/health_switches.h"
#include "src/node/config/selector_text.h"
#include "src/node/sharing/kind.h"

namespace kgpu::config {
namespace {

constexpr std::array<std::string_view, 4> kGkeKeys = {
    "GPUPartitionSize", "GPUSharingConfig", "MaxTimeSharedClientsPerGPU", "HealthCriticalXid"};
constexpr std::array<std::string_view, 2> kGkeSharingKeys = {"GPUSharingStrategy",
                                                             "MaxSharedClientsPerGPU"};

constexpr uint64_t kMostGkeXid = 999'999'999;

class GkeConverter {
 public:
  explicit GkeConverter(ForeignNotes& notes) : notes_(notes) {}

  NodeConfig Convert(const Node& root) {
    config_ = DefaultNodeConfig();
    root.ForEachFieldLoosely(
        kGkeKeys, [this](std::string_view name, const Node& field) { ReadField(name, field); },
        notes_.ForUnknown());
    // GKE's plugin lets the old key win.
    const uint64_t clients = old_clients_ > 0 ? old_clients_ : clients_;
    const auto replicas = static_cast<unsigned>(clients);
    if (const Status status = by_->CheckReplicas(replicas); !status.ok()) {
      root.Error("{} clients share a GPU: {}", clients, Message(status));
    }
    if (clients >= 2) {
      config_.pools.front().share = {
          .by = by_, .replicas = replicas, .multiple = sharing::MultipleSlots::kRefuse};
    }
    return config_;
  }

 private:
  void ReadField(std::string_view name, const Node& field) {
    if (name == "GPUPartitionSize") {
      ReadPartition(field);
    } else if (name == "GPUSharingConfig") {
      field.ForEachFieldLoosely(
          kGkeSharingKeys,
          [this](std::string_view key, const Node& item) {
            if (key == "GPUSharingStrategy") {
              ReadStrategy(item);
            } else {
              clients_ = ReadClients(item);
            }
          },
          notes_.ForUnknown());
    } else if (name == "MaxTimeSharedClientsPerGPU") {
      old_clients_ = ReadClients(field);
    } else {
      ReadCriticalXids(field);
    }
  }

  void ReadCriticalXids(const Node& field) {
    std::vector<uint64_t> xids;
    field.ForEachItem([&xids](const Node& item) {
      if (const auto xid = item.Number(1, kMostGkeXid)) {
        xids.push_back(*xid);
      }
    });
    SetCriticalXids(xids, config_.health);
    notes_.Add(Fate::kTranslated, field,
               "health.rules: only these XIDs and 48 make a device unhealthy; a device is used "
               "again once it is healthy");
  }

  void ReadPartition(const Node& field) {
    const auto text = field.String();
    if (!text || text->empty()) {
      return;
    }
    if (auto profile = field.Accept(ParseMigProfile(*text))) {
      config_.mig = MigStrategy::kSingle;
      config_.pools.front().devices.mig_profiles = {*profile};
      notes_.Add(Fate::kTranslated, field,
                 "MIG devices of this profile are served as {}: create them first, or set "
                 "share.by: mig",
                 kDefaultResource);
    }
  }

  void ReadStrategy(const Node& field) {
    const auto text = field.String();
    if (!text || text->empty()) {
      return;
    }
    if (const sharing::Kind* kind = sharing::FindByGkeName(*text)) {
      by_ = kind;
      notes_.Add(Fate::kTranslated, field, "share.by: {}, multiple: refuse", kind->traits().name);
    } else {
      field.Error("{} must be time-sharing or mps", field.Shown());
    }
  }

  uint64_t ReadClients(const Node& field) {
    const uint64_t clients = field.Number(0, sharing::kMaxReplicas).value_or(0);
    if (clients >= 2) {
      notes_.Add(Fate::kTranslated, field, "share.replicas: {}", clients);
    } else {
      notes_.Add(Fate::kNoMeaning, field, "{} is not a sharing strategy", clients);
    }
    return clients;
  }

  ForeignNotes& notes_;
  NodeConfig config_;
  const sharing::Kind* by_ = sharing::FindByGkeName("time-sharing");
  uint64_t clients_ = 0;
  uint64_t old_clients_ = 0;
};

}  // namespace

StatusOr<Converted> ConvertGkeConfig(std::string_view text, std::string_view file) {
  return ConvertForeign(text, file, [](const Node& root, ForeignNotes& notes) {
    return GkeConverter(notes).Convert(root);
  });
}

}  // namespace kgpu::config
