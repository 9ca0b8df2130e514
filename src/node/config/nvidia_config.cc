#include "src/node/config/nvidia_config.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

#include "src/gpu/device/model.h"
#include "src/node/config/foreign_reader.h"
#include "src/node/config/nvidia_flags.h"
#include "src/node/config/nvidia_pools.h"
#include "src/node/config/resource_name.h"
#include "src/node/config/selector_text.h"
#include "src/node/config/words.h"
#include "src/node/sharing/kind.h"
#include "src/platform/base/strings.h"

namespace kgpu::config {
namespace {

constexpr std::array<std::string_view, 5> kNvidiaRootKeys = {"version", "flags", "resources",
                                                             "sharing", "imex"};
constexpr std::array<std::string_view, 2> kResourcesKeys = {"gpus", "mig"};
constexpr std::array<std::string_view, 2> kNameKeys = {"pattern", "name"};
constexpr std::array<std::string_view, 2> kNvidiaSharingKeys = {"timeSlicing", "mps"};
constexpr std::array<std::string_view, 3> kTimeSlicingKeys = {
    "renameByDefault", "failRequestsGreaterThanOne", "resources"};
constexpr std::array<std::string_view, 4> kNvidiaShareKeys = {"name", "rename", "devices",
                                                              "replicas"};
constexpr std::array<std::string_view, 2> kImexKeys = {"channelIDs", "required"};
// Keys that are easily put elsewhere, where NVIDIA's plugin ignores them.
constexpr std::array kHomes = std::to_array<std::pair<std::string_view, std::string_view>>(
    {{"renameByDefault", "sharing.timeSlicing"},
     {"failRequestsGreaterThanOne", "sharing.timeSlicing"},
     {"replicas", "sharing.timeSlicing.resources[]"},
     {"timeSlicing", "sharing"},
     {"mps", "sharing"},
     {"migStrategy", "flags"},
     {"failOnInitError", "flags"},
     {"nvidiaDriverRoot", "flags"},
     {"passDeviceSpecs", "flags.plugin"},
     {"deviceListStrategy", "flags.plugin"},
     {"deviceIDStrategy", "flags.plugin"}});

// "gpu" is "nvidia.com/gpu".
std::optional<std::string> WholeName(const Node& node) {
  const auto name = node.String();
  if (!name) {
    return std::nullopt;
  }
  std::string whole =
      name->find('/') == std::string::npos ? fmt::format("nvidia.com/{}", *name) : *name;
  if (const Status status = CheckResourceName(whole); !status.ok()) {
    node.Error("{}", Message(status));
    return std::nullopt;
  }
  return whole;
}

// A pattern of product names as one of models. The maker in front is no part of a model.
std::string ModelPattern(std::string_view pattern) {
  for (const std::string_view maker : {"NVIDIA", "Tesla"}) {
    if (pattern.starts_with(maker)) {
      pattern = Trim(pattern.substr(maker.size()));
    }
  }
  std::string model;
  for (const std::string_view word : Words(pattern)) {
    model += fmt::format("{}{}", model.empty() ? "" : "-", word);
  }
  std::ranges::replace_if(
      model, [](char c) { return c == '/' || c == '_' || c == '(' || c == ')'; }, '-');
  return model.empty() ? "*" : model;
}

class NvidiaConverter {
 public:
  explicit NvidiaConverter(ForeignNotes& notes) : notes_(notes) { notes_.SetHomes(kHomes); }

  NodeConfig Convert(const Node& root) {
    ForEach(root, kNvidiaRootKeys, [this](std::string_view name, const Node& field) {
      if (name == "version") {
        ReadVersion(field);
      } else if (name == "flags") {
        const NvidiaFlags flags = ReadNvidiaFlags(field, notes_);
        resources_.mig = flags.mig;
        config_.plugin = flags.plugin;
      } else if (name == "resources") {
        ForEach(field, kResourcesKeys, [this](std::string_view kind, const Node& list) {
          ReadNames(list, kind == "mig");
        });
      } else if (name == "sharing") {
        ForEach(field, kNvidiaSharingKeys,
                [this](std::string_view kind, const Node& way) { ReadSharing(kind, way); });
      } else {
        ReadImex(field);
      }
    });
    config_.mig = resources_.mig;
    config_.pools = NvidiaPools(resources_, notes_);
    return std::move(config_);
  }

 private:
  void ForEach(const Node& node, std::span<const std::string_view> known,
               const Node::ReadField& read) {
    node.ForEachFieldLoosely(known, read, notes_.ForUnknown());
  }

  static void ReadVersion(const Node& field) {
    const auto version = field.String();
    if (version && *version != "v1") {
      field.Error("{} must be v1", field.Shown());
    }
  }

  void ReadNames(const Node& list, bool is_mig) {
    list.ForEachItem([&](const Node& item) {
      NvidiaName entry;
      ForEach(item, kNameKeys, [&](std::string_view name, const Node& field) {
        if (name == "name") {
          entry.resource = WholeName(field).value_or("");
        } else if (const auto pattern = field.String()) {
          entry.pattern =
              field.Accept(is_mig ? ParseMigProfile(*pattern) : ParseModel(ModelPattern(*pattern)))
                  .value_or("");
        }
      });
      AddName(item, is_mig, std::move(entry));
    });
  }

  void AddName(const Node& item, bool is_mig, NvidiaName entry) {
    if (entry.pattern.empty() || entry.resource.empty()) {
      if (item.is_map() && item.size() < kNameKeys.size()) {
        item.Error("pattern and name are both required");
      }
      return;
    }
    notes_.Add(Fate::kTranslated, item,
               "{} {} are renamed {} (NVIDIA's plugin reads this and ignores it)",
               is_mig ? "MIG devices of profile" : "GPUs of model", entry.pattern, entry.resource);
    (is_mig ? resources_.mig_devices : resources_.gpus).push_back(std::move(entry));
  }

  // NVIDIA's plugin lets MPS win if both share something.
  void ReadSharing(std::string_view kind, const Node& way) {
    const bool wins = kind == "mps";
    bool has_resources = false;
    way.ForAnyField([&](std::string_view name, const Node& field) {
      has_resources |= ToLower(name) == "resources" && field.size() > 0;
    });
    if (wins && !has_resources) {
      notes_.Add(Fate::kNoMeaning, way, "has no effect");
      return;
    }
    const sharing::Kind* by = sharing::FindBySection(kind);
    NvidiaResources found{.multiple = by->traits().multiple, .by = by};
    ForEach(way, kTimeSlicingKeys, [&](std::string_view name, const Node& field) {
      if (name == "resources") {
        field.ForEachItem([&](const Node& item) { ReadShare(item, found); });
      } else if (name == "renameByDefault") {
        found.is_renamed_by_default = field.Bool().value_or(false);
        notes_.Add(Fate::kTranslated, field, "pools[].resource{}",
                   found.is_renamed_by_default ? " ends in .shared" : "");
      } else {
        found.multiple = field.Bool().value_or(false) ? sharing::MultipleSlots::kRefuse
                                                      : sharing::MultipleSlots::kAllow;
        notes_.Add(Fate::kTranslated, field, "share.multiple: {}",
                   NameOf<sharing::MultipleSlots>(kMultipleWords, found.multiple));
      }
    });
    if (found.shares.empty()) {
      return;
    }
    if (!wins && !resources_.shares.empty()) {
      notes_.Add(Fate::kNotTranslated, way, "sharing.mps is set too, and wins");
      return;
    }
    if (wins && !resources_.shares.empty()) {
      notes_.Add(Fate::kNotTranslated, way, "replaces sharing.timeSlicing, which is set too");
    }
    resources_.shares = std::move(found.shares);
    resources_.is_renamed_by_default = found.is_renamed_by_default;
    resources_.multiple = found.multiple;
    resources_.by = found.by;
  }

  void ReadShare(const Node& item, NvidiaResources& found) {
    NvidiaShare share{.node = item, .resource = ""};
    bool has_replicas = false;
    ForEach(item, kNvidiaShareKeys, [&](std::string_view name, const Node& field) {
      if (name == "name") {
        share.resource = WholeName(field).value_or("");
      } else if (name == "rename") {
        share.rename = WholeName(field);
        notes_.Add(Fate::kTranslated, field,
                   "pools[].resource (NVIDIA's plugin reads this and ignores it)");
      } else if (name == "devices") {
        ReadDevices(field, share);
      } else {
        has_replicas = true;
        share.replicas = static_cast<unsigned>(field.Number(2, sharing::kMaxReplicas).value_or(2));
        if (const Status status = found.by->CheckReplicas(share.replicas); !status.ok()) {
          field.Error("{}", Message(status));
        }
      }
    });
    if (!has_replicas && item.is_map()) {
      item.Error("replicas: missing: set the number of slots per device");
    }
    if (!share.resource.empty()) {
      found.shares.push_back(std::move(share));
    } else if (item.is_map()) {
      item.Error("name: missing or wrong: set the resource to share, e.g. nvidia.com/gpu");
    }
  }

  // "all", a number of GPUs, or a list of indices and UUIDs.
  void ReadDevices(const Node& field, NvidiaShare& share) {
    if (field.is_string()) {
      if (field.String() != "all") {
        field.Error("{} must be all, a number of GPUs, or a list", field.Shown());
      }
      return;
    }
    Selector by_index;
    Selector by_uuid;
    if (!field.is_list()) {
      const uint64_t count = field.Number(1, kMaxIndex).value_or(1);
      for (unsigned i = 0; i < count; ++i) {
        by_index.indices.push_back(i);
      }
    } else {
      field.ForEachItem([&](const Node& item) { ReadDevice(item, by_index, by_uuid); });
    }
    for (Selector* selector : {&by_index, &by_uuid}) {
      if (*selector != Selector()) {
        share.devices.push_back(*selector);
      }
    }
    if (share.devices.empty()) {
      field.Error("none of these devices can be selected here: use indices or UUIDs");
    }
    notes_.Add(Fate::kTranslated, field,
               "pools[].devices (NVIDIA's plugin reads this and shares every device)");
  }

  void ReadDevice(const Node& item, Selector& by_index, Selector& by_uuid) {
    if (!item.is_string()) {
      if (const auto index = item.Number(0, kMaxIndex)) {
        by_index.indices.push_back(static_cast<unsigned>(*index));
      }
      return;
    }
    const std::string text = item.String().value_or("");
    if (const auto index = ParseUint(text); index && *index <= kMaxIndex) {
      by_index.indices.push_back(static_cast<unsigned>(*index));
    } else if (text.find(':') != std::string::npos) {
      notes_.Add(Fate::kNotTranslated, item,
                 "{} is the position of a MIG device, which changes: use the device's UUID",
                 item.Shown());
    } else if (auto uuid = item.Accept(ParseUuid(text))) {
      by_uuid.uuids.push_back(*std::move(uuid));
    }
  }

  void ReadImex(const Node& node) {
    ForEach(node, kImexKeys, [this](std::string_view name, const Node& field) {
      const bool asks = name == "required" ? field.Bool().value_or(false) : field.size() > 0;
      notes_.Add(asks ? Fate::kNotTranslated : Fate::kNoMeaning, field, "{}",
                 asks ? "containers do not get IMEX channels" : "requests nothing");
    });
  }

  ForeignNotes& notes_;
  NodeConfig config_;
  NvidiaResources resources_;
};

}  // namespace

StatusOr<Converted> ConvertNvidiaConfig(std::string_view text, std::string_view file) {
  return ConvertForeign(text, file, [](const Node& root, ForeignNotes& notes) {
    return NvidiaConverter(notes).Convert(root);
  });
}

}  // namespace kgpu::config
